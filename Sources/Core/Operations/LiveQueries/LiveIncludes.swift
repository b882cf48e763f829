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
            var included = try await frame.filled(states, node, for: change, reads)
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
    /// The most values that are looked through for pointers, and the cost of each.
    private static let (mostVisits, visitCost) = (50_000, 16)

    /// An object where a part of the include tree applies to it.
    private struct Place: Hashable {
        let pointer: Pointer
        let node: ObjectIdentifier
    }

    /// A subscriber's rights on a class.
    private enum Rights {
        case reader(ObjectReader)
        /// The class doesn't exist.
        case absent
        /// Pointers to objects of the class stay.
        case denied
    }

    let backend: Backend
    let context: RequestContext
    let mostBytes: Int
    /// The bytes of the objects that were put in, each as often as it stands in the event.
    private(set) var bytes = 0
    private var visits = 0
    private var budget = MatchBudget(steps: 100_000)
    private var classes: [Name: Rights] = [:]
    /// What the subscriber sees of the objects; nil for those that are missing or unreadable.
    private var objects: [Pointer: JSONObject?] = [:]
    /// The ids of objects that are still to be read.
    private var wanted: [Name: Set<Name>] = [:]
    private var finished: [Place: (object: JSONObject, bytes: Int)] = [:]

    init(backend: Backend, context: RequestContext, mostBytes: Int) {
        self.backend = backend
        self.context = context
        self.mostBytes = mostBytes
    }

    var cost: Int { bytes + Self.visitCost * visits }

    /// The states of an object with what they include in place of pointers. Each round reads what the one before found:
    /// only objects that the subscriber sees lead further.
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
                objects[pointer] = reader.shown(object, links)
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

    /// A value with objects in place of pointers. As in finds, a pointer to a missing or unreadable object disappears.
    private mutating func filled(_ value: JSONValue, _ node: IncludeNode) throws(IncludeFailure) -> JSONValue? {
        visits += 1
        guard visits <= Self.mostVisits else { throw .tooLarge }
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
        guard classes.count < Self.mostClasses else { throw .tooLarge }
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
            guard objects.count < Self.mostObjects else { throw .tooLarge }
            objects[pointer] = .some(nil)
            wanted[Name(pointer.className), default: []].insert(Name(pointer.objectId))
            return nil
        }
        guard let read else { return nil }
        var object: JSONObject = ["__type": "Object", "className": .string(pointer.className)]
        for (field, value) in read
        where node.keys?.contains(field) ?? true || node.children[field] != nil || LiveQuery.always.contains(field) {
            // A value longer than an event may include is not read whole.
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
        guard bytes <= mostBytes else { throw .tooLarge }
    }
}
