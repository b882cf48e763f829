import JSON
import ParseModel
import ParseStorage
import Rules

/// An object was changed since the caller of a conditional save or deletion saw it. Nothing was done to it.
public struct ObjectChanged: Error, Sendable {
    /// The object as it is now, as the caller sees it.
    public let object: JSONObject
}

extension Filter {
    /// Objects that were changed last at a time. Answers have milliseconds, where other servers store more.
    static func changed(at date: ParseDate) -> Filter {
        let next = ParseDate(milliseconds: date.milliseconds + 1)
        return .all([
            .field(FieldPath("updatedAt"), .compare(.greaterOrEqual, date.json)),
            .field(FieldPath("updatedAt"), .compare(.less, next.json)),
        ])
    }
}

extension Finding {
    /// What a conditional write of an object failed by: the statement that was to change it did not find it as expected.
    ///
    /// - Returns: ``ObjectChanged`` where the object is there and was changed meanwhile; else the error itself.
    func conflict(
        _ error: any Error, _ className: String, _ objectId: String, _ date: ParseDate, _ context: RequestContext
    ) async -> any Error {
        guard let refusal = error as? ParseError, refusal.code == ParseError.objectNotFound,
            let object = try? await object(className, objectId, context),
            !date.iso.hasSameBytes(as: object["updatedAt"]?.stringValue)
        else { return error }
        return ObjectChanged(object: object)
    }
}
