import JSON
import ParseModel
import Postgres

/// A tree of fields whose pointers are replaced by their objects.
public final class IncludeNode: Sendable {
    /// The included fields below this one.
    public let children: [Name: IncludeNode]
    /// The fields to return for objects at this level, or nil for all. Always nil at the root.
    public let keys: Set<Name>?
    /// The fields to leave out for objects at this level. Always empty at the root.
    public let excluded: Set<Name>
    /// Whether the objects at this level are returned with all fields and without further includes.
    let isPlain: Bool
    /// Whether some fields of the objects at this level are left out.
    let isSelective: Bool

    /// Creates a tree from the dotted paths of `include`, `keys` and `excludeKeys`.
    public convenience init(paths: [[Name]], keys: [[Name]] = [], excluded: [[Name]] = []) {
        let root = Draft()
        for path in paths { root.include(path) }
        for key in keys { root.want(key) }
        for key in excluded { root.exclude(key) }
        self.init(root, isRoot: true)
    }

    private init(_ draft: Draft, isRoot: Bool) {
        children = draft.children.mapValues { IncludeNode($0, isRoot: false) }
        keys = isRoot || draft.keys.isEmpty ? nil : draft.keys
        excluded = isRoot ? [] : draft.excluded
        isSelective = keys != nil || !excluded.isEmpty
        isPlain = children.isEmpty && !isSelective
    }

    /// A mutable tree, built by visiting each step of each path once.
    private final class Draft {
        var children: [Name: Draft] = [:]
        var keys: Set<Name> = []
        var excluded: Set<Name> = []

        func include(_ path: [Name]) {
            var node = self
            for step in path {
                if let child = node.children[step] {
                    node = child
                } else {
                    let child = Draft()
                    node.children[step] = child
                    node = child
                }
            }
        }

        func exclude(_ key: [Name]) {
            var node = self
            for step in key.dropLast() {
                guard let child = node.children[step] else { return }
                node = child
            }
            if let last = key.last { node.excluded.insert(last) }
        }

        func want(_ key: [Name]) {
            var node = self
            for step in key {
                node.keys.insert(step)
                guard let child = node.children[step] else { return }
                node = child
            }
        }
    }

    /// Whether a field of the objects at this level is left out.
    func leavesOut(_ field: String) -> Bool {
        if SystemClass.commonFields[field] != nil { return false }
        if let keys, !keys.contains(field) { return true }
        return excluded.contains(field)
    }
}

/// Included objects by class and id.
struct IncludedObjects: Sendable {
    struct Found: Sendable {
        let result: PostgresResult
        let row: Int
        let plan: ReadPlan
        let hidden: Set<Name>
    }

    /// The requested objects. An object that wasn't found has the value nil.
    private var objects: [Pointer: Found?] = [:]
    /// The number of requested objects that haven't been found.
    private(set) var missing = 0
    /// The number of positions in the response where the objects are written.
    var positions = 0
    /// The size of the rows in bytes.
    var size = 0

    func find(_ pointer: Pointer) -> Found? { objects[pointer] ?? nil }

    var loginData: [(id: String, data: JSONObject)] {
        objects.values.compactMap { $0.flatMap { $0.plan.loginData($0.result, $0.row, omitting: $0.hidden) } }
    }

    mutating func reserve(_ count: Int) { objects.reserveCapacity(objects.count + count) }

    /// Records that an object is needed. Returns false if it was already recorded.
    mutating func ask(for pointer: Pointer) -> Bool {
        let known = objects.count
        func insert(_ found: inout Found?) {}
        insert(&objects[pointer, default: nil])
        guard objects.count > known else { return false }
        missing += 1
        return true
    }

    mutating func insert(_ found: Found, _ pointer: Pointer) {
        if let before = objects.updateValue(found, forKey: pointer), before == nil { missing -= 1 }
    }
}
