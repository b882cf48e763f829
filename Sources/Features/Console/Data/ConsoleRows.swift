import HTTP
import JSON
internal import Operations
internal import ParseModel
import Rules

/// The data browser's routes outside the REST API: counts, references, permissions, trash and saved views.
extension ConsoleRouteTable {
    static let rows: [ConsoleRoute] = [
        ConsoleRoute(.get, "counts", .viewer) { try await RowCalls(call: $0).counts() },
        ConsoleRoute(.get, "references", .viewer) { try await RowCalls(call: $0).references() },
        ConsoleRoute(.post, "may", .viewer, .nothing) { try await RowCalls(call: $0).may() },
        ConsoleRoute(.get, "trash", .viewer) { try await RowCalls(call: $0).trash() },
        ConsoleRoute(.post, "trash/:id/restore", .editor) { try await RowCalls(call: $0).restore() },
        ConsoleRoute(.get, "views", .viewer) { try await RowCalls(call: $0).views() },
        ConsoleRoute(.put, "views/:id", .editor) { try await RowCalls(call: $0).putView() },
        ConsoleRoute(.delete, "views/:id", .editor) { try await RowCalls(call: $0).deleteView() },
    ]
}

private struct RowCalls: ConsoleCalls {
    let call: ConsoleCall

    func counts() async throws -> Reply {
        let classCounts = interface.backend.classCounts
        let counts = try await interface.counting.run { try await classCounts.counts() }
        return .object([
            "classes": .array(
                counts.map { count in
                    [
                        "className": .string(count.className), "objects": .number(Double(count.objects)),
                        "isEstimate": .bool(count.isEstimate), "bytes": .number(Double(count.bytes)),
                        "indexBytes": .number(Double(count.indexBytes)),
                    ]
                })
        ])
    }

    func references() async throws -> Reply {
        let texts = texts
        guard let className = texts["className"]?.stringValue, let objectId = texts["objectId"]?.stringValue else {
            throw HTTPError(status: 400, message: "className and objectId are required.")
        }
        let found = try await interface.backend.references.pointing(
            to: Pointer(className: className, objectId: objectId))
        return .object([
            "from": .array(
                found.map { reference in
                    [
                        "className": .string(reference.className), "field": .string(reference.field),
                        "count": .number(Double(reference.count)), "isEstimate": .bool(reference.isEstimate),
                    ]
                })
        ])
    }

    /// Returns which operations a user or an anonymous client may perform, and why.
    func may() async throws -> Reply {
        let body = try await body()
        func text(_ name: Name) throws -> String? {
            guard let value = body[name], !value.isNull else { return nil }
            guard let text = value.stringValue else {
                throw HTTPError(status: 400, message: "\(name) must be a string.")
            }
            return text
        }
        guard let className = try text("className") else {
            throw HTTPError(status: 400, message: "className is required.")
        }
        let allowances = try await interface.backend.allowances.allowances(
            of: text("user"), className, text("objectId"))
        var operations: JSONObject = [:]
        for allowance in allowances {
            let reasons = allowance.reasons.map { reason -> JSONValue in
                var object: JSONObject = ["rule": .string(reason.rule.rawValue)]
                if let who = reason.who { object["who"] = .string(who.text) }
                if let field = reason.field { object["field"] = .string(field.text) }
                if reason.who == nil, !reason.allows.isEmpty {
                    object["allows"] = .array(reason.allows.map { .string($0.text) })
                }
                return .object(object)
            }
            operations[Name(allowance.operation.rawValue)] = [
                "allowed": .bool(allowance.isAllowed), "limited": .bool(allowance.isLimited),
                "because": .array(reasons),
            ]
        }
        return .object(["operations": .object(operations)])
    }

    /// Returns whether the role may run a saved view's query, which could name a secret.
    private func shows(_ view: SavedView) -> Bool {
        let find = view.content.filter { ["where", "order"].contains($0.key) }
        let call = ConsoleGate.Call(
            path: ["classes", view.className], method: "GET", onlyReads: true, parameters: find)
        return ConsoleGate.refusal(of: call, for: role) { interface.backend.catalog.schema($0) } == nil
    }

    // MARK: Trash

    func trash() async throws -> Reply {
        let texts = texts
        let items = try await interface.backend.trash.list(
            className: texts["className"]?.stringValue, objectId: texts["objectId"]?.stringValue, context)
        return .object([
            "objects": .array(
                items.map { item in
                    var object: JSONObject = [
                        "id": .string(item.entry.id), "className": .string(item.entry.className),
                        "objectId": .string(item.entry.objectId), "deletedAt": .string(item.entry.deletedAt.iso),
                        "operator": .string(item.entry.operatorName), "object": .object(item.object),
                    ]
                    if let name = item.name { object["name"] = .string(name) }
                    return .object(object)
                })
        ])
    }

    /// Restores an object from the trash, without the fields listed in `without`.
    func restore() async throws -> Reply {
        let backend = interface.backend
        let named = try await body()["without"] ?? []
        guard let without = named.arrayValue?.compactMap(\.stringValue), without.count == named.arrayValue?.count else {
            throw HTTPError(status: 400, message: "without must be a list of fields.")
        }
        let entry = try await backend.trash.entry(arguments[0])
        try interface.check(.init(path: ["classes", entry.className], method: "POST", onlyReads: false), for: role)
        return try await call.audited("trash/\(entry.id)/restore", className: entry.className, ids: [entry.objectId]) {
            do {
                let (object, dropped) = try await backend.trash.restore(entry.id, without: Set(without), context)
                var reply = Reply.object(object)
                if !dropped.isEmpty { reply.headers.append(("X-Roost-Dropped", dropped.joined(separator: ","))) }
                return reply
            } catch let misfit as Trash.Misfit {
                let fields = misfit.fields.map { JSONValue.string($0) }
                let names = misfit.fields.joined(separator: ", ")
                let words = "Some values no longer fit the types of their fields: \(names)."
                return .object(["error": .string(words), "fields": .array(fields)], status: 409)
            } catch let error as ParseError where Self.duplicates.contains(error.code) {
                throw HTTPError(status: 409, message: error.message)
            }
        }
    }

    /// The errors for an id or a unique value that another object already has.
    private static let duplicates: Set<Int> = [
        ParseError.duplicateValue, ParseError.usernameTaken, ParseError.emailTaken, 208,
    ]

    // MARK: Views

    func views() async throws -> Reply {
        let views = try await interface.backend.savedViews.list(for: session.name).filter { shows($0) }
        return .object([
            "views": .array(
                views.map { view in
                    var object = view.content
                    object["id"] = .string(view.id)
                    object["className"] = .string(view.className)
                    object["name"] = .string(view.name)
                    object["shared"] = .bool(view.isShared)
                    object["owner"] = .string(view.owner)
                    return .object(object)
                })
        ])
    }

    func putView() async throws -> Reply {
        let body = try await body()
        var content: JSONObject = [:]
        for name: Name in ["where", "order", "columns"] { content[name] = body[name] }
        let columns = content["columns"].map { $0.isNull ? [] : $0.arrayValue ?? [.null] } ?? []
        guard columns.allSatisfy({ $0.stringValue != nil }) else {
            throw HTTPError(status: 400, message: "columns must be a list of names.")
        }
        let view = SavedView(
            id: arguments[0], className: body["className"]?.stringValue ?? "", name: body["name"]?.stringValue ?? "",
            isShared: body["shared"] == true, owner: session.name, content: content)
        return try await call.audited("views/\(view.id)", className: view.className) {
            try await interface.backend.savedViews.put(view)
            return .object([:])
        }
    }

    func deleteView() async throws -> Reply {
        try await call.audited("views/\(arguments[0])") {
            try await interface.backend.savedViews.delete(arguments[0], of: session.name)
            return .object([:])
        }
    }
}
