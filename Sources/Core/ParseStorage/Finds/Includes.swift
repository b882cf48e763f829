import JSON
import ParseModel
import Postgres

/// What is to be fetched in place of pointers: a tree of fields.
public final class IncludeNode: Sendable {
    /// The included fields below this one.
    public let children: [Name: IncludeNode]
    /// The fields wanted of the objects here; nil for all.
    public let keys: Set<Name>?
    /// Fields not wanted of the objects here.
    public let excluded: Set<Name>
    /// Whether the objects here are wanted as they are, with all fields.
    let isPlain: Bool
    /// Whether some fields of the objects here are not wanted.
    let isSelective: Bool

    /// Makes the tree of dotted paths, with the dotted keys that choose fields inside included objects.
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

    /// A tree under construction, which visits each step of each path once.
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

    /// Whether a field of the objects here was not asked for.
    func leavesOut(_ field: String) -> Bool {
        if SystemClass.commonFields[field] != nil { return false }
        if let keys, !keys.contains(field) { return true }
        return excluded.contains(field)
    }
}

/// Objects fetched in place of pointers, by class and id.
struct IncludedObjects: Sendable {
    struct Found: Sendable {
        let result: PostgresResult
        let row: Int
        let plan: ReadPlan
        let hidden: Set<Name>
    }

    /// Nil for a requested object that wasn't found.
    private var objects: [Pointer: Found?] = [:]
    /// Requested objects that haven't been found so far.
    private(set) var missing = 0
    /// At how many positions of the answer the objects stand.
    var positions = 0
    /// The bytes of the rows.
    var size = 0

    func find(_ pointer: Pointer) -> Found? { objects[pointer] ?? nil }

    /// Makes room for a number of objects more.
    mutating func reserve(_ count: Int) { objects.reserveCapacity(objects.count + count) }

    /// Notes that an object is asked for; returns whether it was not asked for before.
    mutating func ask(for pointer: Pointer) -> Bool {
        let known = objects.count
        func keep(_ found: inout Found?) {}
        keep(&objects[pointer, default: nil])
        guard objects.count > known else { return false }
        missing += 1
        return true
    }

    mutating func insert(_ found: Found, _ pointer: Pointer) {
        if let before = objects.updateValue(found, forKey: pointer), before == nil { missing -= 1 }
    }
}
