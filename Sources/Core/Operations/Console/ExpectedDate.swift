import JSON
import ParseModel
import ParseStorage
import Rules

/// The error of a conditional save or deletion whose object has changed since it was read. Nothing was written.
public struct ObjectChanged: Error, Sendable {
    /// The current object, as visible to the caller.
    public let object: JSONObject
}

extension Filter {
    /// Returns a filter for objects with this `updatedAt`. It compares whole milliseconds, because other servers store
    /// microseconds that responses don't include.
    static func changed(at date: ParseDate) -> Filter {
        let next = ParseDate(milliseconds: date.milliseconds + 1)
        return .all([
            .field(FieldPath("updatedAt"), .compare(.greaterOrEqual, date.json)),
            .field(FieldPath("updatedAt"), .compare(.less, next.json)),
        ])
    }
}

extension Finding {
    /// Determines why a conditional write failed.
    ///
    /// - Returns: ``ObjectChanged`` if the object exists with another `updatedAt`, otherwise the original error.
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
