import JSON
import Limits
import OrderedCollections
import ParseModel
import ParseStorage
import Rules

/// Find triggers of included objects. Each include path counts as a separate find.
extension FindTriggers {
    /// Returns the include paths that may contain objects of classes with find triggers.
    func triggeredIncludes(_ className: String, _ options: FindOptions) -> [[Name]] {
        guard let schema = catalog.schema(className) else { return [] }
        let all = options.includesAll ? schema.fields.keys.map { [$0] } : []
        return triggeredIncludes(className, options.includes + all)
    }

    /// Returns the paths, and their prefixes, that may contain objects of classes with find triggers.
    func triggeredIncludes(_ className: String, _ includes: [[Name]]) -> [[Name]] {
        var paths: OrderedSet<[Name]> = []
        for include in includes {
            for length in include.indices { paths.append(Array(include[...length])) }
        }
        return paths.filter { mayReachTrigger(className, $0[...]) }.sorted { $0.count < $1.count }
    }

    func mayReachTrigger(_ className: String, _ path: ArraySlice<Name>) -> Bool {
        guard let step = path.first else { return hasFindTrigger(className) }
        switch catalog.schema(className)?.type(of: step.text) {
        case .pointer(let target): return mayReachTrigger(target.text, path.dropFirst())
        case .array, .object: return true
        default: return false
        }
    }

    func hasFindTrigger(_ className: String) -> Bool {
        findTrigger(.beforeFind, className) != nil || findTrigger(.afterFind, className) != nil
    }

    /// Calls the find triggers of included objects and replaces the objects with the triggers' results.
    ///
    /// - Parameters:
    ///   - paths: The include paths, shortest first, because a trigger's result determines what is included below it.
    ///   - cost: The cost of scanning the objects. Slow scans run off the event loop.
    /// - Throws: Errors of the triggers.
    func callIncludeTriggers(
        _ objects: [JSONObject], _ paths: [[Name]], _ cost: Cost, cloudContext: JSONObject?, _ context: RequestContext
    ) async throws -> [JSONObject] {
        var objects = objects
        for length in OrderedSet(paths.map(\.count)) {
            let level = paths.filter { $0.count == length }
            let found = await HeavyWork.run(cost) { [objects] in Self.included(in: objects, at: level) }
            for path in level {
                for (className, included) in found[path] ?? [:] where hasFindTrigger(className.text) {
                    let left = try await callTriggers(className.text, included, cloudContext, context)
                    objects = await HeavyWork.run(cost) { [objects] in
                        Self.putting(left, of: className, into: objects, at: path)
                    }
                }
            }
        }
        return objects
    }

    /// Included objects by class and id.
    private typealias Included = OrderedDictionary<Name, OrderedDictionary<Name, JSONObject>>

    /// Returns the included objects by path. Visits each object once, regardless of the number of paths.
    private static func included(in objects: [JSONObject], at paths: [[Name]]) -> [[Name]: Included] {
        var tree = PathTree()
        for path in paths { tree.add(path[...], path) }
        var found: [[Name]: Included] = [:]
        for object in objects {
            tree.visit(.object(object)) { path, included in
                guard let (className, id) = identity(included) else { return }
                found[path, default: [:]][className, default: [:]][id] = included
            }
        }
        return found
    }

    private static func putting(
        _ left: [Name: JSONObject], of className: Name, into objects: [JSONObject], at path: [Name]
    ) -> [JSONObject] {
        objects.map { object in
            let rewritten = rewriting(.object(object), path[...]) { included in
                guard let identity = identity(included), identity.className == className else { return included }
                // An object that the trigger removed becomes a pointer again.
                return left[identity.id]
                    ?? [
                        "__type": "Pointer", "className": .string(className.text),
                        "objectId": .string(identity.id.text),
                    ]
            }
            return rewritten.objectValue ?? object
        }
    }

    private func callTriggers(
        _ className: String, _ included: OrderedDictionary<Name, JSONObject>, _ cloudContext: JSONObject?,
        _ context: RequestContext
    ) async throws -> [Name: JSONObject] {
        try backend.triggers.checkMayCallCode()
        let ids = included.keys.map { JSONValue.string($0.text) }
        let request = try await backend.triggers.withUser(context)
        var query: JSONObject = ids.count == 1 ? [:] : ["where": ["objectId": ["$in": .array(ids)]]]
        let objectId = ids.count == 1 ? ids[0].stringValue : nil
        var found = included.values.filter { $0["__type"] == "Object" }.map { object in
            object.filter { $0.key != "__type" && $0.key != "className" }
        }
        var cloudContext = cloudContext
        if let before = findTrigger(.beforeFind, className) {
            var call = FindCall(query: query, objectId: objectId, cloudContext: cloudContext, request)
            let asked = call.query["where"]
            try await before(&call)
            (query, cloudContext) = (call.query, call.context)
            if let given = call.objects {
                found = given
            } else if call.query["where"] != asked {
                found = try await backend.finding.search(included: ids.count, of: className, call.query, context)
            }
        }
        found = try await afterFind(
            className, found, query: query, objectId: objectId, cloudContext: cloudContext, request)
        var left: [Name: JSONObject] = [:]
        for var object in found {
            guard let id = object["objectId"]?.nameValue else { continue }
            object["__type"] = "Object"
            object["className"] = .string(className)
            left[id] = object
        }
        return left
    }

    private static func identity(_ object: JSONObject) -> (className: Name, id: Name)? {
        guard object["__type"] == "Object" || object["__type"] == "Pointer",
            let className = object["className"]?.nameValue, let id = object["objectId"]?.nameValue
        else { return nil }
        return (className, id)
    }

    private static func rewriting(
        _ value: JSONValue, _ path: ArraySlice<Name>, _ replace: (JSONObject) -> JSONObject
    ) -> JSONValue {
        switch value {
        case .array(let list): return .array(list.map { rewriting($0, path, replace) })
        case .object(var object):
            guard let step = path.first else { return .object(replace(object)) }
            guard let member = object[step] else { return value }
            object[step] = rewriting(member, path.dropFirst(), replace)
            return .object(object)
        default: return value
        }
    }
}

private struct PathTree {
    private var children: [Name: PathTree] = [:]
    private var path: [Name]?

    mutating func add(_ rest: ArraySlice<Name>, _ path: [Name]) {
        guard let step = rest.first else {
            self.path = path
            return
        }
        children[step, default: PathTree()].add(rest.dropFirst(), path)
    }

    /// Calls `body` with the objects at the ends of the paths.
    func visit(_ value: JSONValue, _ body: ([Name], JSONObject) -> Void) {
        switch value {
        case .array(let list): for element in list { visit(element, body) }
        case .object(let object):
            if let path { return body(path, object) }
            if children.count < object.count {
                for (step, child) in children {
                    if let member = object[step] { child.visit(member, body) }
                }
            } else {
                for (step, member) in object { children[step]?.visit(member, body) }
            }
        default: break
        }
    }
}
