import CloudCode
import JSON

/// What is called around saves and deletions.
extension Cloud {
    private struct View<Object: Sendable>: Sendable {
        let className: String
        let read: @Sendable (CloudCall) throws -> (object: Object, original: Object?)
        let fields: @Sendable (Object) throws -> JSONObject
        let changes: @Sendable (_ before: Object, _ after: Object) throws -> (set: JSONObject, reverted: [Name])

        /// The fields that code set on an object.
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
            var set: JSONObject = [:]
            for (key, operation) in after.operations where before.operations[key] != operation { set[key] = operation }
            let reverted = before.operations.keys.filter { after.operations[$0] == nil }
            return (set, Array(reverted))
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
            var set: JSONObject = [:]
            for (key, value) in after where before[key] != value { set[key] = value }
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

    /// Registers what is called before an object of a class is saved. It may change the object, or refuse.
    public func beforeSave(
        _ className: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout SaveRequest<ParseObject>) async throws -> Void
    ) {
        onSave(.beforeSave, Self.view(className), requirements, body)
    }

    /// Registers what is called before an object of a class of the app is saved. Fields of the wrong type are refused.
    public func beforeSave<Record: ParseRecord>(
        _ type: Record.Type, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout SaveRequest<Record>) async throws -> Void
    ) {
        onSave(.beforeSave, Self.view(type), requirements, body)
    }

    /// Registers what is called when an object of a class was saved. What it throws is logged.
    public func afterSave(
        _ className: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout SaveRequest<ParseObject>) async throws -> Void
    ) {
        onSave(.afterSave, Self.view(className), requirements, body)
    }

    /// Registers what is called when an object of a class of the app was saved. What it throws is logged.
    public func afterSave<Record: ParseRecord>(
        _ type: Record.Type, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout SaveRequest<Record>) async throws -> Void
    ) {
        onSave(.afterSave, Self.view(type), requirements, body)
    }

    /// Registers what is called before an object of a class is removed. It may refuse.
    public func beforeDelete(
        _ className: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout DeleteRequest<ParseObject>) async throws -> Void
    ) {
        onDelete(.beforeDelete, Self.view(className), requirements, body)
    }

    /// Registers what is called before an object of a class of the app is removed. It may refuse.
    public func beforeDelete<Record: ParseRecord>(
        _ type: Record.Type, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout DeleteRequest<Record>) async throws -> Void
    ) {
        onDelete(.beforeDelete, Self.view(type), requirements, body)
    }

    /// Registers what is called when an object of a class was removed. What it throws goes to the client.
    public func afterDelete(
        _ className: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout DeleteRequest<ParseObject>) async throws -> Void
    ) {
        onDelete(.afterDelete, Self.view(className), requirements, body)
    }

    /// Registers what is called when an object of a class of the app was removed. What it throws goes to the client.
    public func afterDelete<Record: ParseRecord>(
        _ type: Record.Type, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout DeleteRequest<Record>) async throws -> Void
    ) {
        onDelete(.afterDelete, Self.view(type), requirements, body)
    }
}

extension ParseObject {
    /// The object of a call: what is stored, with what the client changes as operations.
    init(_ className: String, _ call: CloudCall) {
        self.init(className)
        let object = call.object ?? [:]
        guard case .trigger(.beforeSave, _) = call.target else {
            take(object)
            return
        }
        take(call.original ?? [:])
        // Where clients choose ids, a new object has one.
        if let id = object["objectId"]?.stringValue { objectId = id }
        for (key, value) in call.changes where !["objectId", "createdAt", "updatedAt", "className"].contains(key) {
            operations[key] = value
            let steps = key.text.split(separator: ".", maxSplits: 1)
            if steps.count == 2, let root = steps.first.map(String.init) { changedInside[root] = object[root] }
        }
    }
}
