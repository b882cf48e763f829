import CloudCode
import JSON

/// Triggers for saves and deletions.
extension Cloud {
    private struct View<Object: Sendable>: Sendable {
        let className: String
        let read: @Sendable (CloudCall) throws -> (object: Object, original: Object?)
        let fields: @Sendable (Object) throws -> JSONObject
        let changes: @Sendable (_ before: Object, _ after: Object) throws -> (set: JSONObject, reverted: [Name])

        func set(_ before: Object, _ after: Object) throws -> JSONObject {
            let fieldsBefore = try fields(before)
            return try fields(after).filter { fieldsBefore[$0.key] != $0.value }
        }
    }

    private static func view(_ className: String) -> View<ParseObject> {
        View(className: className) { call in
            let original = call.original.map { ParseObject(className, json: $0) }
            return (ParseObject(className, call), original)
        } fields: {
            $0.fields
        } changes: { before, after in
            let reverted = before.operations.keys.filter { after.operations[$0] == nil }
            return (after.operations.filter { before.operations[$0.key] != $0.value }, Array(reverted))
        }
    }

    private static func view<Record: ParseRecord>(_ type: Record.Type) -> View<Record> {
        View(className: Record.className) { call in
            let original: Record? = try call.original.map { try ValueDecoder.params($0) }
            return (try ValueDecoder.params(ParseObject(Record.className, call).json), original)
        } fields: {
            try $0.fields()
        } changes: { before, after in
            let (before, after) = (try before.fields(), try after.fields())
            var set = after.filter { before[$0.key] != $0.value }
            for key in before.keys where after[key] == nil { set[key] = ["__op": "Delete"] }
            return (set, [])
        }
    }

    private func onSave<Object: Sendable>(
        _ event: CloudEvent, _ view: View<Object>, _ requirements: Requirements,
        _ body: @escaping @Sendable (inout SaveRequest<Object>) async throws -> Void
    ) {
        register(.trigger(event, Name(view.className)), requirements) { call, details in
            let (object, original) = try view.read(call)
            var request = SaveRequest(
                details: details, object: object, original: original, sentKeys: call.changes.keys.texts)
            try await body(&request)
            var result = CloudResult()
            result.context = request.details.changedContext
            if event == .beforeSave {
                let (set, reverted) = try view.changes(object, request.object)
                if !set.isEmpty || !reverted.isEmpty { result.write = .operations(set, reverted: reverted) }
            } else {
                result.answer = request.answer
                result.responseFields = try view.set(object, request.object)
            }
            return result
        }
    }

    private func onDelete<Object: Sendable>(
        _ event: CloudEvent, _ view: View<Object>, _ requirements: Requirements,
        _ body: @escaping @Sendable (inout DeleteRequest<Object>) async throws -> Void
    ) {
        register(.trigger(event, Name(view.className)), requirements) { call, details in
            var request = DeleteRequest(details: details, object: try view.read(call).object)
            try await body(&request)
            var result = CloudResult()
            result.context = request.details.changedContext
            return result
        }
    }

    /// Registers a trigger that runs before an object of a class is saved. It can change the object, or throw to reject
    /// the save.
    public func beforeSave(
        _ className: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout SaveRequest<ParseObject>) async throws -> Void
    ) {
        onSave(.beforeSave, Self.view(className), requirements, body)
    }

    /// Registers a `beforeSave` trigger with a record type. Rejects objects whose fields have other types.
    public func beforeSave<Record: ParseRecord>(
        _ type: Record.Type, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout SaveRequest<Record>) async throws -> Void
    ) {
        onSave(.beforeSave, Self.view(type), requirements, body)
    }

    /// Registers a trigger that runs after an object of a class was saved. Its errors are only logged.
    public func afterSave(
        _ className: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout SaveRequest<ParseObject>) async throws -> Void
    ) {
        onSave(.afterSave, Self.view(className), requirements, body)
    }

    /// Registers an `afterSave` trigger with a record type. Its errors are only logged.
    public func afterSave<Record: ParseRecord>(
        _ type: Record.Type, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout SaveRequest<Record>) async throws -> Void
    ) {
        onSave(.afterSave, Self.view(type), requirements, body)
    }

    /// Registers a trigger that runs before an object of a class is deleted. Throw to reject the deletion.
    public func beforeDelete(
        _ className: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout DeleteRequest<ParseObject>) async throws -> Void
    ) {
        onDelete(.beforeDelete, Self.view(className), requirements, body)
    }

    /// Registers a `beforeDelete` trigger with a record type. Throw to reject the deletion.
    public func beforeDelete<Record: ParseRecord>(
        _ type: Record.Type, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout DeleteRequest<Record>) async throws -> Void
    ) {
        onDelete(.beforeDelete, Self.view(type), requirements, body)
    }

    /// Registers a trigger that runs after an object of a class was deleted. From preset 9 on its errors are only
    /// logged; with earlier presets the client gets them.
    public func afterDelete(
        _ className: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout DeleteRequest<ParseObject>) async throws -> Void
    ) {
        onDelete(.afterDelete, Self.view(className), requirements, body)
    }

    /// Registers an `afterDelete` trigger with a record type. From preset 9 on its errors are only logged; with earlier
    /// presets the client gets them.
    public func afterDelete<Record: ParseRecord>(
        _ type: Record.Type, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout DeleteRequest<Record>) async throws -> Void
    ) {
        onDelete(.afterDelete, Self.view(type), requirements, body)
    }
}

extension ParseObject {
    /// Creates the object of a call. Before a save it has the stored fields, and the client's changes as operations.
    init(_ className: String, _ call: CloudCall) {
        self.init(className)
        let object = call.object ?? [:]
        guard case .trigger(.beforeSave, _) = call.target else {
            merge(object)
            return
        }
        merge(call.original ?? [:])
        // New objects have an id already if clients can choose ids.
        if let id = object["objectId"]?.stringValue { objectId = id }
        for (key, value) in call.changes where !["objectId", "createdAt", "updatedAt", "className"].contains(key) {
            operations[key] = value
            let steps = key.text.split(separator: ".", maxSplits: 1)
            if steps.count == 2, let root = steps.first.map(String.init) { changedInside[root] = object[root] }
        }
    }
}
