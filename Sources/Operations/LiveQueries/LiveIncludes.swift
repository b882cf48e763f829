import JSON
import ParseModel
import ParseStorage
import Rules

extension LiveQueries {
    /// The most bytes of included objects in one event; with more it keeps its pointers.
    public static let mostIncludedBytes = 256 * 1024

    /// What a failure costs, so that a connection does not wait for the same failure again and again.
    private static let failureCost = 512 * 1024

    /// Puts the objects that a subscription includes into an event, as far as the subscriber may read them.
    ///
    /// The event keeps its pointers if the objects exceed a limit, can't be read, or a find trigger of their class throws.
    ///
    /// - Parameters:
    ///   - change: The serial number of the change: what its subscribers include is read once.
    ///   - most: What it may cost.
    /// - Returns: The event, and its cost: the bytes of the included objects and what was looked through for pointers.
    public func including(
        in event: LiveQueryEvent, for query: LiveQuery, change: Int, atMost most: Int, _ context: RequestContext,
        _ reads: IncludeReads
    ) async -> (event: LiveQueryEvent, cost: Int) {
        guard let node = query.includeTree, most > 0 else { return (event, 0) }
        var frame = IncludedFrame(backend: backend, context: context, mostBytes: min(most, Self.mostIncludedBytes))
        do {
            let states = [event.object] + (event.original.map { [$0] } ?? [])
            try await frame.read(states, node, for: change, reads)
            var included = try states.map { try frame.filled($0, node) }
            let triggers = backend.findTriggers
            if frame.bytes > 0, triggers.hasFindTriggers {
                let paths = triggers.triggeredIncludes(query.className.text, query.includes)
                included = try await triggers.callIncludeTriggers(
                    included, paths, isHeavy: false, cloudContext: nil, context)
            }
            let original = event.original == nil ? nil : included.last
            return (LiveQueryEvent(kind: event.kind, object: included[0], original: original), frame.cost)
        } catch {
            reads.logPointersKept(of: query.className, error, backend.logger)
            return (event, frame.cost + Self.failureCost)
        }
    }

    /// Refuses an include that a find would refuse: beyond the deployment's limits, or through a pointer to a class
    /// that the caller may not get.
    func checkIncludes(of query: LiveQuery, _ schema: ClassSchema, _ caller: Caller) throws(ParseError) {
        guard let node = query.includeTree else { return }
        try FindPipeline(backend: backend).checkIncludes(query.includes, caller)
        try checkClasses(node, schema, caller)
    }

    private func checkClasses(_ node: IncludeNode, _ schema: ClassSchema, _ caller: Caller) throws(ParseError) {
        for (field, child) in node.children {
            guard case .pointer(let target)? = schema.type(of: field.text) else { continue }
            try caller.check("get", of: target.text)
            guard let schema = catalog.schema(target.text) else { continue }
            _ = try backend.permissions.readAccess(schema, .get, caller)
            try checkClasses(child, schema, caller)
        }
    }
}

/// Why an event keeps its pointers.
enum IncludeFailure: Error {
    case tooLarge, unreadable
}

/// The objects that one subscriber includes in one event.
private struct IncludedFrame {
    /// The most distinct objects, and the most classes of them.
    private static let (mostObjects, mostClasses) = (100, 10)
    /// The most values that are looked through for pointers.
    private static let mostVisits = 20_000
    private static let visitCost = 16

    /// An object where a part of the include tree applies to it.
    private struct Place: Hashable {
        let pointer: Pointer
        let node: ObjectIdentifier
    }

    let backend: Backend
    let context: RequestContext
    let mostBytes: Int
    /// The bytes of the objects that were put in, each as often as it stands in the event.
    private(set) var bytes = 0
    private var visits = 0
    var cost: Int { bytes + Self.visitCost * visits }
    private var budget = MatchBudget(steps: 100_000)
    /// The classes that are read, with the subscriber's rights; nil for classes that don't exist.
    private var readers: [Name: ObjectReader?] = [:]
    /// Classes that the subscriber may not get: pointers to their objects stay.
    private var denied: Set<Name> = []
    /// What the subscriber sees of the objects.
    private var objects: [Pointer: JSONObject] = [:]
    private var filled: [Place: (object: JSONObject, bytes: Int)] = [:]

    init(backend: Backend, context: RequestContext, mostBytes: Int) {
        self.backend = backend
        self.context = context
        self.mostBytes = mostBytes
    }

    private mutating func visit() throws(IncludeFailure) {
        visits += 1
        guard visits <= Self.mostVisits else { throw .tooLarge }
    }

    // MARK: Reading

    /// Reads what objects include, level by level: one statement for each class of a level.
    mutating func read(_ states: [JSONObject], _ node: IncludeNode, for change: Int, _ reads: IncludeReads) async throws
    {
        let links = backend.links(context)
        var known: Set<Pointer> = []
        var level = states.map { ($0, node) }
        while !level.isEmpty {
            var targets: [Place: IncludeNode] = [:]
            for (object, node) in level { try collectMembers(object, node, &targets) }
            var wanted: [Name: Set<Name>] = [:]
            for pointer in targets.keys.map(\.pointer) where known.insert(pointer).inserted {
                let className = Name(pointer.className)
                resolveRights(className)
                guard known.count <= Self.mostObjects, readers.count + denied.count <= Self.mostClasses else {
                    throw IncludeFailure.tooLarge
                }
                guard case .some(.some) = readers[className] else { continue }
                wanted[className, default: []].insert(Name(pointer.objectId))
            }
            for (pointer, object) in try await reads.objects(wanted, for: change, in: backend) {
                guard case .some(let reader?) = readers[Name(pointer.className)], try reader.mayRead(object, &budget)
                else { continue }
                objects[pointer] = reader.shown(object, links)
            }
            // Only what the subscriber sees leads further.
            level = targets.compactMap { place, node in
                node.children.isEmpty ? nil : objects[place.pointer].map { ($0, node) }
            }
        }
    }

    private mutating func resolveRights(_ className: Name) {
        guard readers[className] == nil, !denied.contains(className) else { return }
        let caller = context.caller
        do {
            try caller.check("get", of: className.text)
            guard let schema = backend.catalog.schema(className.text) else {
                readers[className] = .some(nil)
                return
            }
            let access = try backend.permissions.readAccess(schema, .get, caller)
            readers[className] = try ObjectReader(access, seesEverything: caller.readsEverything, schema: schema)
        } catch {
            denied.insert(className)
        }
    }

    private mutating func collectMembers(
        _ object: JSONObject, _ node: IncludeNode, _ targets: inout [Place: IncludeNode]
    ) throws(IncludeFailure) {
        for (field, child) in node.children {
            if let member = object[field] { try collect(member, child, &targets) }
        }
    }

    private mutating func collect(
        _ value: JSONValue, _ node: IncludeNode, _ targets: inout [Place: IncludeNode]
    ) throws(IncludeFailure) {
        try visit()
        switch value {
        case .array(let list): for element in list { try collect(element, node, &targets) }
        case .object(let object):
            if let pointer = Self.pointer(object) {
                targets[Place(pointer: pointer, node: ObjectIdentifier(node))] = node
            } else {
                try collectMembers(object, node, &targets)
            }
        default: break
        }
    }

    private static func pointer(_ object: JSONObject) -> Pointer? {
        object["__type"] == "Pointer" ? Pointer(json: .object(object)) : nil
    }

    // MARK: Putting in

    /// An object with what it includes in place of pointers. As in finds, a pointer to a missing or unreadable object
    /// disappears.
    mutating func filled(_ object: JSONObject, _ node: IncludeNode) throws(IncludeFailure) -> JSONObject {
        var object = object
        for (field, child) in node.children {
            if let member = object[field] { object[field] = try filled(member, child) }
        }
        return object
    }

    private mutating func filled(_ value: JSONValue, _ node: IncludeNode) throws(IncludeFailure) -> JSONValue? {
        try visit()
        switch value {
        case .array(let list):
            var kept: [JSONValue] = []
            for element in list { if let element = try filled(element, node) { kept.append(element) } }
            return .array(kept)
        case .object(let object):
            guard let pointer = Self.pointer(object) else { return .object(try filled(object, node)) }
            guard !denied.contains(Name(pointer.className)) else { return value }
            return try included(pointer, node).map { .object($0) }
        default: return value
        }
    }

    private mutating func included(_ pointer: Pointer, _ node: IncludeNode) throws(IncludeFailure) -> JSONObject? {
        let place = Place(pointer: pointer, node: ObjectIdentifier(node))
        if let known = filled[place] {
            try count(known.bytes)
            return known.object
        }
        guard let seen = objects[pointer] else { return nil }
        var object: JSONObject = ["__type": "Object", "className": .string(pointer.className)]
        for (field, value) in seen {
            if let keys = node.keys, !keys.contains(field), node.children[field] == nil,
                !LiveQuery.always.contains(field)
            {
                continue
            }
            // A value longer than an event may include is not read whole.
            guard value["__type"] != "Shortened" else { throw .tooLarge }
            object[field] = value
        }
        let before = bytes
        try count(JSONValue.object(object).serialized().count)
        object = try filled(object, node)
        filled[place] = (object, bytes - before)
        return object
    }

    private mutating func count(_ more: Int) throws(IncludeFailure) {
        bytes += more
        guard bytes <= mostBytes else { throw .tooLarge }
    }
}
