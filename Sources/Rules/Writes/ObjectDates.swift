import JSON
import ParseModel

/// The dates of an object, which are the server's.
package enum ObjectDates {
    /// Dates of the object itself may be sent, as dates, and are the server's all the same.
    ///
    /// Scripts that move apps send them as they were read: as plain texts, which the keys of servers may.
    package static func check(_ body: JSONObject, _ className: String, _ caller: Caller) throws(ParseError) {
        for name in ["createdAt", "updatedAt"] {
            guard let value = body[name], let type = try FieldType.inferred(from: value), type != .date else {
                continue
            }
            if caller.writesEverything, let text = value.stringValue, ParseDate(iso: text) != nil { continue }
            throw ParseError(
                ParseError.incorrectType, "schema mismatch for \(className).\(name); expected Date but got \(type)")
        }
    }

    /// When a new object was made: now, or what the maintenance key says.
    package static func ofNew(_ body: JSONObject, _ context: RequestContext) throws(ParseError)
        -> (created: ParseDate, updated: ParseDate)
    {
        func date(_ name: String) -> ParseDate? {
            (body[name]?["iso"] ?? body[name])?.stringValue.flatMap(ParseDate.init(iso:))
        }
        guard context.caller.power == .maintenance, let created = date("createdAt") else {
            return (context.now, context.now)
        }
        let updated = date("updatedAt") ?? created
        guard updated >= created else {
            throw ParseError(ParseError.validationError, "updatedAt cannot occur before createdAt")
        }
        return (created, updated)
    }
}
