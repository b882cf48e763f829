import JSON
import Limits
import OrderedCollections
import ParseModel
import ParseStorage
import Rules
import Synchronization

/// Creates classes and fields that a request writes to.
extension Saving {
    /// Checks a write against its class and creates missing fields.
    ///
    /// - Parameter objectId: An object that the caller must be allowed to change to add fields, or nil for no check.
    /// - Returns: The class schema, and a condition on the object if the caller may add fields only to some objects.
    /// - Throws: 101 if the object doesn't exist or the caller may not change it, 105 or 107 if a name is invalid, 111
    ///   if a value has the wrong type, 119 if fields can't be added, for example beyond the field limit.
    func prepare(
        _ className: String, _ operations: OrderedDictionary<Name, FieldOperation>, _ caller: Caller,
        isCreating: Bool, objectId: String? = nil
    ) async throws -> (schema: ClassSchema, filter: Filter) {
        let maxFields = caller.writesEverything ? nil : configuration.maxClientFields
        let known = catalog.schema(className)
        let current = known ?? ClassSchema(name: className)
        let fields: OrderedDictionary<Name, Field>
        do throws(ParseError) {
            fields = try WrittenFields.newFields(operations, in: current)
        } catch {
            // A missing permission to add fields is reported before a wrong type.
            if let known, error.code == ParseError.incorrectType {
                try WrittenFields.checkAddition(operations, to: known, caller, isCreating: isCreating)
            }
            throw error
        }
        guard let known else {
            guard Names.isClassName(className), !Names.isJoinName(className) else {
                throw ParseError(ParseError.invalidJSON, "schema class name does not revalidate")
            }
            try WrittenFields.checkPoints(fields, operations)
            if backend.isInTransaction { throw isCreating ? Self.cannotAddFields : ParseError.notFound }
            return (try await store.ensure(className, fields, atMost: maxFields), .everything)
        }
        guard let first = fields.keys.first else { return (known, .everything) }
        guard !SystemClass.volatileNames.contains(className) else {
            // These classes have fixed columns and no schema row.
            throw ParseError(ParseError.invalidKeyName, "Invalid field name: \(first).")
        }
        let filter = try WrittenFields.permitAddition(to: known, caller, isCreating: isCreating)
        try WrittenFields.checkPoints(fields, operations)
        if let objectId {
            let access = ObjectStore.WriteAccess(
                writers: caller.writePrincipals, filter: try known.permit(.update, to: caller).and(filter))
            guard try await store.canChange(className, objectId: objectId, access: access) else {
                throw ParseError.notFound
            }
        }
        if backend.isInTransaction { throw Self.cannotAddFields }
        let schema = try await store.ensure(className, fields, atMost: maxFields)
        if maxFields != nil, services.growingClasses.insert(className) {
            logger.warning(
                "a client added fields to a class. Deny addField in its class-level permissions before you release the app",
                metadata: ["class": "\(className)", "field": "\(first)", "fields": "\(schema.fields.count)"])
        }
        return (schema, filter)
    }

    /// Adding a field waits for all transactions that use the table. Inside one of them, it would wait forever.
    private static let cannotAddFields = ParseError(
        ParseError.operationForbidden, "Classes and fields can't be created inside a transaction.")
}

/// The classes to which clients have added fields since the process started.
final class GrowingClasses: Sendable {
    private let names = Mutex(BoundedTable<Name, Bool>(capacity: 1_000))

    /// Adds a class. Returns false if it was already recorded.
    @inline(never)
    func insert(_ className: String) -> Bool {
        names.withLock { names in
            guard names.value(of: Name(className)) == nil else { return false }
            names.set(true, for: Name(className))
            return true
        }
    }
}
