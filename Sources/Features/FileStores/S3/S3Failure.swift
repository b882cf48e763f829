import Outgoing

/// What a store answered in place of what was asked for.
package struct S3Failure: Error, CustomStringConvertible {
    let status: Int
    /// The code, such as `NoSuchKey`; empty where the answer had none.
    let code: String
    let message: String
    /// By which the operator of the store finds the request.
    let requestID: String?
    /// Where the bucket is, when the request asked elsewhere.
    let region: String?
    let date: String?
    let retryAfter: Double?
    /// Whether HEAD was asked, whose answers have no code.
    var isOfHead = false

    /// - Parameter reason: What is wrong with an answer that is no error of the store's.
    init(_ answer: HTTPStream, body: [UInt8], reason: String? = nil) {
        self.init(
            status: answer.status, body: body, reason: reason,
            requestID: answer.header("x-amz-request-id") ?? answer.header("x-guploader-uploadid"),
            region: answer.header("x-amz-bucket-region"), date: answer.header("Date"),
            retryAfter: answer.header("Retry-After").flatMap { Double($0) })
    }

    package init(
        status: Int, body: [UInt8], reason: String? = nil, requestID: String? = nil, region: String? = nil,
        date: String? = nil, retryAfter: Double? = nil
    ) {
        // It is logged: what answers may be no store, and as long as it likes.
        func short(_ text: String, _ most: Int = 100) -> String {
            text.utf8.count <= most ? text : String(decoding: text.utf8.prefix(most), as: UTF8.self)
        }
        let error = XMLText(body)
        self.status = status
        code = short(error["Code"] ?? "")
        message = short(reason ?? error["Message"] ?? "", 200)
        self.requestID = (requestID ?? error["RequestId"]).map { short($0) }
        self.region = (region ?? error["Region"]).map { short($0) }
        self.date = date
        // Neither NaN nor an infinite time.
        self.retryAfter = retryAfter.flatMap { (0...3600).contains($0) ? $0 : nil }
    }

    /// Whether a further try may succeed.
    var mayPass: Bool {
        [408, 429].contains(status) || status >= 500 && status != 501
            || ["RequestTimeout", "SlowDown", "InternalError", "ServiceUnavailable"].contains(code)
    }

    /// Whether there is no such object. A 404 without a code is, say, a proxy's before the store: an outage must not
    /// look like a loss.
    var isAbsence: Bool { status == 404 && (code == "NoSuchKey" || isOfHead) }

    /// For the log: nothing of the request but what the store says of it, and no address.
    package var description: String {
        var text = "\(status) \(code.isEmpty ? "without a code" : code)"
        switch code {
        case "AccessDenied" where message.isEmpty: break
        case "SignatureDoesNotMatch": text += ": the secret key is wrong"
        case "AccessControlListNotSupported": text += ": the bucket doesn't support ACLs. Set fileAcl to none"
        case "NotImplemented": text += ": the store doesn't support tags. Set storeTags to false"
        case "RequestTimeTooSkewed": text += ": the clocks differ by more than 15 minutes"
        default: if !message.isEmpty { text += ": \(message)" }
        }
        if let region, ["AuthorizationHeaderMalformed", "PermanentRedirect", ""].contains(code) || status == 301 {
            text += "; the bucket is in the region \(region)"
        }
        return text + (requestID.map { " (request \($0))" } ?? "")
    }
}
