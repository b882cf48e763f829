import Outgoing

/// An error response, or another unusable response of a store.
package struct S3Failure: Error, CustomStringConvertible {
    let status: Int
    /// The error code, such as `NoSuchKey`, or empty if the response has none.
    let code: String
    let message: String
    /// The id under which the store's operator can find the request.
    let requestID: String?
    /// The region of the bucket, if the response names it.
    let region: String?
    let date: String?
    let retryAfter: Double?
    /// Whether the request was HEAD, whose responses have no error code.
    var isOfHead = false

    /// - Parameter reason: The reason why a response without an error is unusable.
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
        // Shortened for the log, because the response may come from any server and have any length.
        func short(_ text: String, _ limit: Int = 100) -> String {
            text.utf8.count <= limit ? text : String(decoding: text.utf8.prefix(limit), as: UTF8.self)
        }
        let error = XMLText(body)
        self.status = status
        code = short(error["Code"] ?? "")
        message = short(reason ?? error["Message"] ?? "", 200)
        self.requestID = (requestID ?? error["RequestId"]).map { short($0) }
        self.region = (region ?? error["Region"]).map { short($0) }
        self.date = date
        // Excludes NaN, infinity and more than an hour.
        self.retryAfter = retryAfter.flatMap { (0...3600).contains($0) ? $0 : nil }
    }

    /// Whether a retry may succeed.
    var mayPass: Bool {
        [408, 429].contains(status) || status >= 500 && status != 501
            || ["RequestTimeout", "SlowDown", "InternalError", "ServiceUnavailable"].contains(code)
    }

    /// Whether the object doesn't exist. A 404 without `NoSuchKey` may come from a proxy and counts only for HEAD.
    var isAbsence: Bool { status == 404 && (code == "NoSuchKey" || isOfHead) }

    /// The text for the log, without the URL.
    package var description: String {
        var text = "\(status) \(code.isEmpty ? "without a code" : code)"
        switch code {
        case "AccessDenied" where message.isEmpty: break
        case "SignatureDoesNotMatch": text += ": the secret key is wrong"
        case "AccessControlListNotSupported": text += ": the bucket doesn't support ACLs. Set fileAcl to none"
        case "NotImplemented":
            text +=
                (message.isEmpty ? "" : ": \(message)") + ". If the store doesn't support tags, set storeTags to false"
        case "RequestTimeTooSkewed": text += ": the clocks differ by more than 15 minutes"
        default: if !message.isEmpty { text += ": \(message)" }
        }
        if let region, ["AuthorizationHeaderMalformed", "PermanentRedirect", ""].contains(code) || status == 301 {
            text += "; the bucket is in the region \(region)"
        }
        return text + (requestID.map { " (request \($0))" } ?? "")
    }
}
