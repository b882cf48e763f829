import Outgoing

/// What a store answered in place of what was asked for.
struct S3Failure: Error, CustomStringConvertible {
    let status: Int
    /// The code, such as `NoSuchKey`; empty where the answer had none.
    let code: String
    let message: String
    /// By which the operator of the store finds the request.
    let requestID: String?
    /// Where the bucket is, when the request asked elsewhere.
    let region: String?
    /// The time of the store.
    let date: String?
    let retryAfter: Double?

    init(_ answer: HTTPStream, body: [UInt8]) {
        self.init(
            status: answer.status, body: body,
            requestID: answer.header("x-amz-request-id") ?? answer.header("x-guploader-uploadid"),
            region: answer.header("x-amz-bucket-region"), date: answer.header("Date"),
            retryAfter: answer.header("Retry-After").flatMap { Double($0) })
    }

    init(
        status: Int, body: [UInt8], requestID: String? = nil, region: String? = nil, date: String? = nil,
        retryAfter: Double? = nil
    ) {
        let error = XMLText(body)
        self.status = status
        code = error["Code"] ?? ""
        message = error["Message"] ?? ""
        self.requestID = requestID ?? error["RequestId"]
        self.region = region ?? error["Region"]
        self.date = date
        self.retryAfter = retryAfter
    }

    /// Whether a further try may succeed.
    var mayPass: Bool {
        [408, 429].contains(status) || status >= 500 && status != 501
            || ["RequestTimeout", "SlowDown", "InternalError", "ServiceUnavailable"].contains(code)
    }

    /// Whether there is no such object. An answer to HEAD has no code.
    var isAbsence: Bool { status == 404 && ["NoSuchKey", ""].contains(code) }

    /// For the log: nothing of the request but what the store says of it, and no address.
    var description: String {
        var text = "\(status) \(code.isEmpty ? "without a code" : code)"
        switch code {
        case "AccessDenied" where message.isEmpty: break
        case "SignatureDoesNotMatch": text += ": the secret key is another"
        case "AccessControlListNotSupported": text += ": the bucket takes no permissions, set fileAcl to none"
        case "NotImplemented": text += ": the store has no tags, set storeTags to false"
        case "RequestTimeTooSkewed": text += ": the clocks differ by more than 15 minutes"
        default: if !message.isEmpty { text += ": \(message.prefix(200))" }
        }
        if let region, ["AuthorizationHeaderMalformed", "PermanentRedirect", ""].contains(code) || status == 301 {
            text += "; the bucket is in the region \(region)"
        }
        return text + (requestID.map { " (request \($0))" } ?? "")
    }
}
