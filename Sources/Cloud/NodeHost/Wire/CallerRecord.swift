import CloudCode
import JSON
import Limits

/// A user record that is too large to send with each call. It is sent separately, and calls refer to it.
struct CallerRecord: Sendable {
    /// The approximate minimum size in bytes of records that are sent separately.
    private static let smallest = 32 * 1024
    /// The approximate maximum size in bytes. A larger record would take too much of the process's cache.
    private static let largest = maxCachedBytes / 2
    /// The cache size of a process for records, in bytes.
    fileprivate static let maxCachedBytes = 16 * 1024 * 1024

    /// The name under which calls refer to the record: a randomly seeded hash of its content, and the user's id.
    let name: Name
    private let json: JSONObject

    /// Creates the record of a call's user, or returns nil if there is no user or the user is sent with the call.
    init?(of call: CloudCall) {
        guard call.size >= Self.smallest, let user = call.caller.user, let id = user["objectId"]?.stringValue,
            (Self.smallest...Self.largest).contains(user.roughSize)
        else { return nil }
        name = Name("\(user.hashValue) \(id)")
        json = user
    }

    /// The message that sends the record. The process parses the text only if code reads it.
    var message: [UInt8] {
        let text = String(decoding: JSONValue.object(json).serialized(), as: UTF8.self)
        return JSONValue.object(["type": "record", "record": .string(name.text), "text": .string(text)]).serialized()
    }
}

/// The records that a process has cached. The server decides which ones are evicted.
struct KeptRecords {
    private var names = BoundedTable<Name, Name>(capacity: CallerRecord.maxCachedBytes)

    /// Returns the messages to send before a call that refers to a record, or an empty list if the process has the
    /// record.
    ///
    /// - Parameter message: The message that sends the record, if it was already created.
    /// - Returns: The messages, or nil if the record must be sent and `message` is nil.
    mutating func missing(_ name: Name, _ message: [UInt8]?) -> [OutgoingMessage]? {
        if names.value(of: name) != nil { return [] }
        guard let message else { return nil }
        let dropped = names.set(name, for: name, weight: min(message.count, CallerRecord.maxCachedBytes))
        guard !dropped.isEmpty else { return [.ordered(message)] }
        let forget: JSONObject = ["type": "forget", "records": .array(dropped.map { .string($0.text) })]
        return [.ordered(JSONValue.object(forget).serialized()), .ordered(message)]
    }
}
