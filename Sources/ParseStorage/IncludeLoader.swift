import JSON
import ParseModel
import Postgres

/// Fetches what is included, level by level: all classes of a level in one round trip.
struct IncludeLoader {
    /// Gives the caller's access to a class, or throws when the class may not be read at all.
    typealias AccessResolver = @Sendable (String) async throws -> ReadAccess

    let store: ObjectStore
    let place: ReadPlace
    let access: AccessResolver

    /// A row to look for pointers in, with the part of the tree that applies to it.
    private struct Source {
        let result: PostgresResult
        let row: Int
        let plan: ReadPlan
        let node: IncludeNode
    }

    private struct Target {
        var pointer: Pointer
        var node: IncludeNode
    }

    func load(_ result: PostgresResult, _ plan: ReadPlan, _ node: IncludeNode) async throws -> IncludedObjects {
        var included = IncludedObjects()
        guard !node.children.isEmpty, result.rowCount > 0 else { return included }
        var sources = (0..<result.rowCount).map { Source(result: result, row: $0, plan: plan, node: node) }
        var accesses: [String: ReadAccess] = [:]
        while !sources.isEmpty {
            let targets = sources.flatMap(Self.targets)
            var wanted: [String: Set<String>] = [:]
            for target in targets where included.find(target.pointer.className, target.pointer.objectId) == nil {
                wanted[target.pointer.className, default: []].insert(target.pointer.objectId)
            }
            for className in wanted.keys where accesses[className] == nil {
                accesses[className] = try await access(className)
            }
            let found =
                place == .primary
                ? try await store.fetch(wanted, accesses) : try await store.fetch(wanted, accesses, place)
            for fetched in found {
                guard let idColumn = fetched.plan.index(of: "objectId") else { continue }
                for row in 0..<fetched.result.rowCount {
                    guard let id = fetched.result.string(row, idColumn) else { continue }
                    let hidden = fetched.hidden(row)
                    included.insert(
                        IncludedObjects.Found(
                            result: fetched.result, row: row, plan: fetched.plan, hidden: hidden),
                        fetched.plan.className, id)
                }
            }
            sources = targets.compactMap { target in
                guard !target.node.children.isEmpty,
                    let found = included.find(target.pointer.className, target.pointer.objectId)
                else { return nil }
                return Source(result: found.result, row: found.row, plan: found.plan, node: target.node)
            }
        }
        return included
    }

    private static func targets(_ source: Source) -> [Target] {
        var targets: [Target] = []
        for (name, node) in source.node.children {
            guard let index = source.plan.index(of: name), !source.result.isNull(source.row, index) else { continue }
            switch source.plan.columns[index].encoding {
            case .pointer:
                let className = source.plan.columns[index].target ?? ""
                if let id = source.result.string(source.row, index) {
                    targets.append(Target(pointer: Pointer(className: className, objectId: id), node: node))
                }
            case .json:
                _ = source.result.withJSON(source.row, index) { text in
                    if let pointers = PointerList.read(text) {
                        targets += pointers.map { Target(pointer: $0, node: node) }
                    } else if let json = try? JSONValue(parsing: text) {
                        collect(json, node, into: &targets)
                    }
                }
            default: break
            }
        }
        return targets
    }

    private static func collect(_ value: JSONValue, _ node: IncludeNode, into targets: inout [Target]) {
        switch value {
        case .array(let list):
            for element in list { collect(element, node, into: &targets) }
        case .object(let object):
            if object["__type"] == "Pointer" {
                if let pointer = Pointer(json: value) { targets.append(Target(pointer: pointer, node: node)) }
                return
            }
            for (key, child) in node.children {
                if let member = object[key] { collect(member, child, into: &targets) }
            }
        default: break
        }
    }
}
