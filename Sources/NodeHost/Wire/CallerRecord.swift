import CloudCode
import JSON
import Tasks

/// The record of a caller's user that is too large to be sent with each call: a process gets it once, and calls name it.
struct CallerRecord: Sendable {
    /// From about how many bytes on a record is sent by itself.
    private static let smallest = 32 * 1024
    /// Up to about how many bytes; a larger one takes too much of what a process keeps.
    private static let largest = mostKept / 2
    /// How many bytes of records a process keeps.
    fileprivate static let mostKept = 16 * 1024 * 1024

    /// The name under which calls refer to it. Another record, or the same after a change, has another one: the hash is of
    /// the whole content, and seeded at random.
    let name: Name
    private let json: JSONObject

    /// The record of a call's user, or nil if it is sent with the call.
    init?(of call: CloudCall) {
        guard call.size >= Self.smallest, let user = call.caller.user, let id = user["objectId"]?.stringValue,
            (Self.smallest...Self.largest).contains(user.roughSize)
        else { return nil }
        name = Name("\(user.hashValue) \(id)")
        json = user
    }

    /// The message that brings it to a process. It is read as JSON there when code looks at it.
    var message: [UInt8] {
        let text = String(decoding: JSONValue.object(json).serialized(), as: UTF8.self)
        return JSONValue.object(["type": "record", "record": .string(name.text), "text": .string(text)]).serialized()
    }
}

/// The records that a Node process keeps. The server decides which ones the process drops.
struct KeptRecords {
    private var names = BoundedTable<Name, Name>(capacity: CallerRecord.mostKept)

    /// What is sent before a call that names a record: nothing if the process has it.
    ///
    /// - Parameter message: The message that brings the record, if it has been made.
    /// - Returns: The messages, or nil if the record has to be sent and its message is nil.
    mutating func missing(_ name: Name, _ message: [UInt8]?) -> [OutgoingMessage]? {
        if names.value(of: name) != nil { return [] }
        guard let message else { return nil }
        let dropped = names.set(name, for: name, weight: min(message.count, CallerRecord.mostKept))
        guard !dropped.isEmpty else { return [.ordered(message)] }
        let forget: JSONObject = ["type": "forget", "records": .array(dropped.map { .string($0.text) })]
        return [.ordered(JSONValue.object(forget).serialized()), .ordered(message)]
    }
}
