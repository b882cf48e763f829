import JSON
import Limits
import ParseModel
import ParseStorage
import Rules

extension LiveQueries {
    /// The maximum size in bytes of included objects per event. An event with more keeps its pointers.
    public static let maxIncludedBytes = 256 * 1024

    /// The cost of a failed include, which limits how often a connection waits for failures.
    private static let failureCost = 512 * 1024

    /// Replaces an event's pointers with the included objects that the subscriber may read.
    ///
    /// The event keeps its pointers if the objects exceed a limit, can't be read, or a find trigger of their class
    /// throws.
    ///
    /// - Parameters:
    ///   - change: The serial number of the change. Subscribers to the same change share reads.
    ///   - limit: The maximum size of the included objects in bytes, capped at ``maxIncludedBytes``.
    /// - Returns: The event, and its cost: the bytes of the included objects, a charge for each value scanned for
    ///   pointers, and a charge for a failure.
    public func including(
        in event: LiveQueryEvent, for query: LiveQuery, change: Int, atMost limit: Int, _ context: RequestContext,
        _ reads: IncludeReads
    ) async -> (event: LiveQueryEvent, cost: Int) {
        guard let node = query.includeTree, limit > 0 else { return (event, 0) }
        var frame = IncludedFrame(backend: backend, context: context, maxBytes: min(limit, Self.maxIncludedBytes))
        do {
            let states = [event.object] + (event.original.map { [$0] } ?? [])
            var included = try await frame.filled(states, node, for: change, reads)
            let triggers = backend.findTriggers
            if frame.bytes > 0, triggers.hasFindTriggers {
                let paths = triggers.triggeredIncludes(query.className.text, query.includes)
                included = try await triggers.callIncludeTriggers(
                    included, paths, Cost(), cloudContext: nil, context)
            }
            let original = event.original == nil ? nil : included.last
            return (LiveQueryEvent(kind: event.kind, object: included[0], original: original), frame.cost)
        } catch {
            reads.logPointersKept(of: query.className, error, backend.logger)
            return (event, frame.cost + Self.failureCost)
        }
    }

    /// Rejects an include that a find would reject: one beyond the configured limits, or through a pointer to a class
    /// that the caller may not get.
    ///
    /// - Throws: 102, 119 or 101 if the include is rejected.
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

/// The reason why an event's pointers aren't replaced with objects.
enum IncludeFailure: String, Error, CustomStringConvertible {
    case tooLarge = "the included objects are too large"
    case unreadable = "the included objects can't be read"

    var description: String { rawValue }
}

private struct IncludedFrame {
    /// The maximum numbers of distinct objects and of their classes.
    private static let (maxObjects, maxClasses) = (100, 10)
    /// The maximum number of values scanned for pointers, and the cost of each.
    private static let (maxVisits, visitCost) = (50_000, 16)

    private struct Place: Hashable {
        let pointer: Pointer
        let node: ObjectIdentifier
    }

    private enum Rights {
        case reader(ObjectReader)
        /// The class doesn't exist.
        case absent
        /// Pointers to objects of the class remain pointers.
        case denied
    }

    let backend: Backend
    let context: RequestContext
    let maxBytes: Int
    /// The bytes of the included objects. Objects included several times count each time.
    private(set) var bytes = 0
    private var visits = 0
    private var budget = MatchBudget(steps: 100_000)
    private var classes: [Name: Rights] = [:]
    /// The objects as visible to the subscriber, or nil for missing and unreadable ones.
    private var objects: [Pointer: JSONObject?] = [:]
    /// The ids of the objects to read in the next round.
    private var wanted: [Name: Set<Name>] = [:]
    private var finished: [Place: (object: JSONObject, bytes: Int)] = [:]

    init(backend: Backend, context: RequestContext, maxBytes: Int) {
        self.backend = backend
        self.context = context
        self.maxBytes = maxBytes
    }

    var cost: Int { bytes + Self.visitCost * visits }

    /// Replaces the pointers in an object's states with their objects. Each round reads the objects found by the
    /// previous one, and only objects visible to the subscriber are followed.
    mutating func filled(_ states: [JSONObject], _ node: IncludeNode, for change: Int, _ reads: IncludeReads)
        async throws -> [JSONObject]
    {
        let links = backend.links(context)
        while true {
            (bytes, finished, wanted) = (0, [:], [:])
            var filled: [JSONObject] = []
            for state in states { filled.append(try self.filled(state, node)) }
            guard !wanted.isEmpty else { return filled }
            for (pointer, object) in try await reads.objects(wanted, for: change, in: backend) {
                guard case .reader(let reader)? = classes[Name(pointer.className)],
                    try reader.mayRead(object, &budget)
                else { continue }
                objects[pointer] = reader.visible(object, links)
            }
        }
    }

    private mutating func filled(_ object: JSONObject, _ node: IncludeNode) throws(IncludeFailure) -> JSONObject {
        var object = object
        for (field, child) in node.children {
            if let member = object[field] { object[field] = try filled(member, child) }
        }
        return object
    }

    /// Replaces pointers in a value with their objects. As in finds, pointers to missing or unreadable objects are
    /// removed, except those to classes that the caller can't get at all.
    private mutating func filled(_ value: JSONValue, _ node: IncludeNode) throws(IncludeFailure) -> JSONValue? {
        visits += 1
        guard visits <= Self.maxVisits else { throw .tooLarge }
        switch value {
        case .array(let list):
            var kept: [JSONValue] = []
            for element in list { if let element = try filled(element, node) { kept.append(element) } }
            return .array(kept)
        case .object(let object):
            guard object["__type"] == "Pointer", let pointer = Pointer(json: value) else {
                return .object(try filled(object, node))
            }
            switch try rights(on: Name(pointer.className)) {
            case .denied: return value
            case .absent: return nil
            case .reader: return try included(pointer, node).map { .object($0) }
            }
        default: return value
        }
    }

    private mutating func rights(on className: Name) throws(IncludeFailure) -> Rights {
        if let known = classes[className] { return known }
        guard classes.count < Self.maxClasses else { throw .tooLarge }
        let caller = context.caller
        let rights: Rights
        do {
            try caller.check("get", of: className.text)
            if let schema = backend.catalog.schema(className.text) {
                let access = try backend.permissions.readAccess(schema, .get, caller)
                let reader = try ObjectReader(access, seesEverything: caller.readsEverything, schema: schema)
                rights = .reader(reader)
            } else {
                rights = .absent
            }
        } catch {
            rights = .denied
        }
        classes[className] = rights
        return rights
    }

    private mutating func included(_ pointer: Pointer, _ node: IncludeNode) throws(IncludeFailure) -> JSONObject? {
        let place = Place(pointer: pointer, node: ObjectIdentifier(node))
        if let known = finished[place] {
            try count(known.bytes)
            return known.object
        }
        guard let read = objects[pointer] else {
            guard objects.count < Self.maxObjects else { throw .tooLarge }
            objects[pointer] = .some(nil)
            wanted[Name(pointer.className), default: []].insert(Name(pointer.objectId))
            return nil
        }
        guard let read else { return nil }
        var object: JSONObject = ["__type": "Object", "className": .string(pointer.className)]
        for (field, value) in read
        where node.keys?.contains(field) ?? true || node.children[field] != nil || LiveQuery.always.contains(field) {
            // A value longer than an event may include was only read in part.
            guard value["__type"] != "Shortened" else { throw .tooLarge }
            object[field] = value
        }
        let before = bytes
        try count(JSONValue.object(object).serialized().count)
        object = try filled(object, node)
        finished[place] = (object, bytes - before)
        return object
    }

    private mutating func count(_ more: Int) throws(IncludeFailure) {
        bytes += more
        guard bytes <= maxBytes else { throw .tooLarge }
    }
}
