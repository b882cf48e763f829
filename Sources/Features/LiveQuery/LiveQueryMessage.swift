import JSON

/// A message from a live-query client, in the protocol of Parse's SDKs.
enum LiveQueryMessage {
    /// Identifies the client. Subscriptions that arrive earlier wait for it.
    case connect(JSONObject)
    /// Subscribes to changes, or replaces the query of a subscription (`isUpdate`).
    case subscribe(RequestID, query: JSONObject, sessionToken: String?, isUpdate: Bool)
    case unsubscribe(RequestID)

    /// The id that the client has chosen for a subscription.
    typealias RequestID = Double

    /// Parses a message. Unknown members are ignored, because some SDK versions send additional ones.
    ///
    /// - Throws: ``LiveQueryError`` 1 for an invalid message, 3 for an unknown operation.
    init(_ text: String) throws(LiveQueryError) {
        guard let message = (try? JSONValue(parsing: text))?.objectValue else {
            throw LiveQueryError(LiveQueryError.malformed, "A message must be a JSON object")
        }
        guard let operation = message["op"]?.stringValue else {
            throw LiveQueryError(LiveQueryError.malformed, "Missing required property: op")
        }
        switch operation {
        case "connect":
            guard let applicationId = message["applicationId"] else {
                throw LiveQueryError(LiveQueryError.malformed, "Missing required property: applicationId")
            }
            guard applicationId.stringValue != nil else { throw Self.wrongType(applicationId, wanted: "string") }
            for member in Self.texts { try Self.checkText(message[member]) }
            self = .connect(message)
        case "subscribe", "update":
            let id = try Self.requestID(message)
            try Self.checkText(message["sessionToken"], requestID: id)
            guard let query = message["query"]?.objectValue, query["className"]?.stringValue != nil else {
                throw LiveQueryError(
                    LiveQueryError.malformed, "Missing required property: query with a className", requestID: id)
            }
            try Self.checkInclude(query["include"], requestID: id)
            self = .subscribe(
                id, query: query, sessionToken: message["sessionToken"]?.stringValue, isUpdate: operation == "update")
        case "unsubscribe": self = .unsubscribe(try Self.requestID(message))
        default: throw LiveQueryError(LiveQueryError.unknownOperation, "Get unknown operation")
        }
    }

    /// The members of `connect` that must be strings or null if present.
    private static let texts: [Name] = [
        "javascriptKey", "masterKey", "clientKey", "windowsKey", "restAPIKey", "sessionToken", "installationId",
    ]

    private static func requestID(_ message: JSONObject) throws(LiveQueryError) -> RequestID {
        guard let sent = message["requestId"] else {
            throw LiveQueryError(LiveQueryError.malformed, "Missing required property: requestId")
        }
        guard let id = sent.numberValue, id.isFinite else { throw wrongType(sent, wanted: "number") }
        return id
    }

    /// Checks that a value is a string, null or missing. Throws ``LiveQueryError`` 1 for other values.
    private static func checkText(_ value: JSONValue?, requestID: RequestID? = nil) throws(LiveQueryError) {
        guard let value, !value.isNull, value.stringValue == nil else { return }
        throw wrongType(value, wanted: "string", requestID: requestID)
    }

    private static func checkInclude(_ value: JSONValue?, requestID: RequestID) throws(LiveQueryError) {
        guard let value, !value.isNull, value.stringValue == nil else { return }
        guard let list = value.arrayValue else { throw wrongType(value, wanted: "array", requestID: requestID) }
        func refusal(_ message: String) -> LiveQueryError {
            LiveQueryError(LiveQueryError.malformed, message, requestID: requestID)
        }
        guard !list.isEmpty else { throw refusal("Array is too short (0), minimum 1") }
        var indices: [Name: Int] = [:]
        for (index, element) in list.enumerated() {
            guard let name = element.nameValue else { throw wrongType(element, wanted: "string", requestID: requestID) }
            if let first = indices.updateValue(index, forKey: name) {
                throw refusal("Array items are not unique (indices \(first) and \(index))")
            }
        }
    }

    private static func wrongType(
        _ value: JSONValue, wanted: String, requestID: RequestID? = nil
    ) -> LiveQueryError {
        let type =
            switch value {
            case .null: "null"
            case .bool: "boolean"
            case .number: "number"
            case .string: "string"
            case .array: "array"
            case .object: "object"
            }
        return LiveQueryError(
            LiveQueryError.malformed, "Invalid type: \(type) (expected \(wanted))", requestID: requestID)
    }
}

/// An error response to a live-query client.
package struct LiveQueryError: Error {
    /// The message doesn't follow the protocol.
    static let malformed = 1
    /// The client hasn't connected, or has no such subscription.
    static let notConnected = 2
    static let unknownOperation = 3
    /// The application id is wrong, or none of the client's keys is valid.
    static let wrongKey = 4

    /// One of the codes above or a Parse error code.
    var code: Int
    var message: String
    /// The affected subscription, or nil for the connection.
    var requestID: LiveQueryMessage.RequestID?
    /// Whether the client may reconnect, or nil to send no instruction.
    var reconnect: Bool?

    init(_ code: Int, _ message: String, requestID: LiveQueryMessage.RequestID? = nil, reconnect: Bool? = true) {
        self.code = code
        self.message = message
        self.requestID = requestID
        self.reconnect = reconnect
    }

    var json: JSONObject {
        var json: JSONObject = [
            "op": "error", "error": .string(message), "code": .number(Double(code)),
        ]
        if let reconnect { json["reconnect"] = .bool(reconnect) }
        if let requestID { json["requestId"] = .number(requestID) }
        return json
    }
}
