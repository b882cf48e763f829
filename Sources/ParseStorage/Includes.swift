import JSON
import OrderedCollections
import ParseModel
import Postgres

/// What is to be fetched in place of pointers: a tree of fields.
public final class IncludeNode: Sendable {
    /// The included fields below this one.
    public let children: [String: IncludeNode]
    /// The fields wanted of the objects here; nil for all.
    public let keys: Set<String>?
    /// Fields not wanted of the objects here.
    public let excluded: Set<String>
    /// Whether the objects here are wanted as they are, with all fields.
    let isPlain: Bool
    /// Whether some fields of the objects here are not wanted.
    let isSelective: Bool

    /// Makes the tree of dotted paths, with the dotted keys that choose fields inside included objects.
    public convenience init(paths: [[String]], keys: [[String]] = [], excluded: [[String]] = []) {
        self.init(paths: paths, keys: keys, excluded: excluded, isRoot: true)
    }

    private init(paths: [[String]], keys: [[String]], excluded: [[String]], isRoot: Bool) {
        var children: [String: IncludeNode] = [:]
        for first in Set(paths.compactMap(\.first)) {
            func below(_ lists: [[String]]) -> [[String]] {
                lists.filter { $0.first == first }.map { Array($0.dropFirst()) }.filter { !$0.isEmpty }
            }
            // A plain mention of the field asks for the whole object.
            let isWhole = keys.contains { $0 == [first] }
            children[first] = IncludeNode(
                paths: below(paths), keys: isWhole ? [] : below(keys), excluded: below(excluded), isRoot: false)
        }
        self.children = children
        self.keys = isRoot || keys.isEmpty ? nil : Set(keys.compactMap(\.first))
        self.excluded = isRoot ? [] : Set(excluded.filter { $0.count == 1 }.compactMap(\.first))
        isSelective = self.keys != nil || !self.excluded.isEmpty
        isPlain = children.isEmpty && !isSelective
    }

    /// Whether a field of the objects here was not asked for.
    func leavesOut(_ field: String) -> Bool {
        if SystemClass.commonFields[field] != nil { return false }
        if let keys, !keys.contains(field) { return true }
        return excluded.contains(field)
    }
}

/// With whose eyes objects of a class are read.
public struct ReadAccess: Sendable {
    /// The caller's principals, any of which must be among an object's readers; nil to see every object.
    public var readers: [String]?
    /// A further condition, by which pointer permissions let objects through.
    public var filter: Filter
    /// Fields that are left out of every object.
    public var hidden: Set<String>
    /// Fields hidden from those who are not named by a field of the object itself.
    public var ownerRules: [OwnerRule]

    /// Makes an access that sees everything.
    public init(
        readers: [String]? = nil, filter: Filter = .everything, hidden: Set<String> = [], ownerRules: [OwnerRule] = []
    ) {
        self.readers = readers
        self.filter = filter
        self.hidden = hidden
        self.ownerRules = ownerRules
    }

    /// Objects whose field names the user are read with another set of hidden fields.
    public struct OwnerRule: Sendable {
        /// A field that holds a pointer to a user, or several; nil means the object itself is the user.
        public var field: String?
        /// The user.
        public var userId: String
        /// The hidden fields for such objects: the intersection is taken over all rules that apply.
        public var hidden: Set<String>

        /// Makes a rule.
        public init(field: String?, userId: String, hidden: Set<String>) {
            self.field = field
            self.userId = userId
            self.hidden = hidden
        }
    }
}

/// Objects fetched in place of pointers, by class and id.
struct IncludedObjects: Sendable {
    struct Found: Sendable {
        let result: PostgresResult
        let row: Int
        let plan: ReadPlan
        let hidden: Set<String>
    }

    private var objects: [String: [String: Found]] = [:]

    func find(_ className: String, _ id: String) -> Found? { objects[className]?[id] }

    mutating func insert(_ found: Found, _ className: String, _ id: String) {
        objects[className, default: [:]][id] = found
    }
}
