import JSON

/// What a client of live queries says.
enum LiveQueryMessage {
    /// Who it is; nothing else is served before.
    case connect(JSONObject)
    /// It subscribes to changes, or to others than before under the same id.
    case subscribe(RequestID, query: JSONObject, sessionToken: String?, isUpdate: Bool)
    /// It ends its subscription.
    case unsubscribe(RequestID)

    /// A client's own number for a subscription.
    typealias RequestID = Double

    /// Reads a message. Members that are not known say nothing: clients of other lines send some.
    ///
    /// - Throws: ``LiveQueryError`` 1 for what is none, 3 for an operation that there is not.
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

    /// The members of `connect` that are texts where they are there.
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

    /// - Throws: ``LiveQueryError`` 1 for what is there, and is neither a text nor null.
    private static func checkText(_ value: JSONValue?, requestID: RequestID? = nil) throws(LiveQueryError) {
        guard let value, !value.isNull, value.stringValue == nil else { return }
        throw wrongType(value, wanted: "string", requestID: requestID)
    }

    /// Checks the form of `include`: a text, or a list of distinct texts.
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

/// What went wrong, for the client.
package struct LiveQueryError: Error {
    /// The message is none of the protocol.
    static let malformed = 1
    /// The client did not connect, or has no such subscription.
    static let notConnected = 2
    /// There is no such operation.
    static let unknownOperation = 3
    /// None of the keys is one of this server's.
    static let wrongKey = 4

    /// One of the above, or a code of Parse.
    var code: Int
    var message: String
    /// The subscription that it concerns; nil for the connection.
    var requestID: LiveQueryMessage.RequestID?
    /// Whether the client may try again as it is; nil where it is to go on as if nothing was refused but what it asked.
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
