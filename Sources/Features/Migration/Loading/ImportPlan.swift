import JSON
import NIOPosix
import ParseModel
import ParseStorage

/// The complete plan of an import, created before anything is written.
struct ImportPlan: Sendable {
    /// The import of one class or relation.
    struct Job: Sendable {
        let collection: SourceCatalog.Collection
        /// The class, or nil for a relation.
        let schema: ClassSchema?
        let plan: RowPlan

        var name: Name { collection.name }
    }

    /// The classes and relations to load, largest first.
    var jobs: [Job] = []
    /// Classes in the source's schema that have no collection.
    var emptyClasses: [ClassSchema] = []
    var notes: [String] = []

    /// Creates the plan for a source.
    ///
    /// - Parameter pool: Threads for blocking reads.
    static func make(
        _ catalog: SourceCatalog, _ options: ImportOptions, _ progress: ImportProgress, _ pool: NIOThreadPool
    ) async throws -> ImportPlan {
        var plan = ImportPlan()
        plan.notes = catalog.notes
        try checkNames(catalog, options)
        var planner = ClassPlanner(types: options.types)
        var classes: [Name: ClassPlanner.Planned] = [:]
        let wanted = catalog.collections.filter { collection in
            options.classes.map { $0.contains(Self.owner(collection.name)) } ?? true
        }
        let unknown = wanted.filter { !isJoin($0.name) && planner.needsInference($0.name, catalog.schema) }
        progress.begin("finding the types of fields", totalBytes: unknown.reduce(0) { $0 + $1.size })
        let inferred = try await Self.infer(unknown, progress, pool)
        let joins = wanted.filter { collection in
            guard let relation = Relation(collection.name), let owner = inferred[relation.owner] else { return false }
            return options.types[relation.owner]?[relation.field] == nil && owner.types[relation.field] == nil
                && ClassSchema(name: relation.owner.text).fields[relation.field] == nil
        }
        let targets = try await RelationTargets.find(of: joins, in: catalog, progress, pool)
        for (join, target) in targets.found { planner.types[join.owner, default: [:]][join.field] = .relation(target) }
        plan.notes += targets.notes
        for collection in wanted where !isJoin(collection.name) {
            if let fault = ClassPlanner.fault(ofClass: collection.name) {
                plan.notes.append("\(collection.name) is skipped: \(fault)")
                continue
            }
            let planned = planner.plan(collection.name, catalog.schema, inferred[collection.name])
            plan.notes += planned.notes
            classes[collection.name] = planned
            plan.jobs.append(
                Job(
                    collection: collection, schema: planned.schema,
                    plan: RowPlan(ImportTable(planned.schema), schema: planned.schema)))
        }
        for name in catalog.schema.classes.keys.sorted() where classes[name] == nil {
            guard options.classes?.contains(name) ?? true, ClassPlanner.fault(ofClass: name) == nil else { continue }
            let planned = planner.plan(name, catalog.schema, nil)
            plan.notes += planned.notes
            classes[name] = planned
            if !SystemClass.volatileNames.contains(name) { plan.emptyClasses.append(planned.schema) }
        }
        for collection in wanted where isJoin(collection.name) { plan.addRelation(collection, classes) }
        plan.jobs.sort { $0.collection.size > $1.collection.size }
        return plan
    }

    /// Rejects class names in the options that the source doesn't have, because a typo would go unnoticed.
    private static func checkNames(_ catalog: SourceCatalog, _ options: ImportOptions) throws {
        let known = Set(catalog.collections.map { owner($0.name) }).union(catalog.schema.classes.keys)
        let unknown = (options.classes ?? []).union(options.replaces).union(options.types.keys).subtracting(known)
        guard unknown.isEmpty else {
            let names = unknown.sorted().map(\.text).joined(separator: ", ")
            throw ImportRun.Refusal(description: "the source has no class \(names)")
        }
    }

    static func isJoin(_ name: Name) -> Bool { name.hasPrefix("_Join:") }

    /// The owner and field of a relation, from the name of its collection, `_Join:field:Class`.
    struct Relation: Hashable {
        let owner: Name
        let field: Name

        /// Parses a collection name, or returns nil if it isn't that of a relation.
        init?(_ name: Name) {
            let parts = name.text.parts(between: ":")
            guard isJoin(name), parts.count == 3 else { return nil }
            owner = Name(parts[2])
            field = Name(parts[1])
        }
    }

    /// Returns the class that a collection belongs to. For a relation, this is its owner.
    static func owner(_ name: Name) -> Name { Relation(name)?.owner ?? name }

    private mutating func addRelation(
        _ collection: SourceCatalog.Collection, _ classes: [Name: ClassPlanner.Planned]
    ) {
        guard let relation = Relation(collection.name),
            let type = classes[relation.owner]?.schema.type(of: relation.field.text), type.isRelation
        else {
            notes.append(
                "\(collection.name) is skipped: no class of the source has this relation. "
                    + "--type CLASS.FIELD='Relation<TARGET>' sets its target")
            return
        }
        jobs.append(
            Job(
                collection: collection, schema: nil,
                plan: RowPlan(ImportTable(join: collection.name.text), schema: nil)))
    }

    private static func infer(
        _ collections: [SourceCatalog.Collection], _ progress: ImportProgress, _ pool: NIOThreadPool
    ) async throws -> [Name: TypeInference] {
        try await withThrowingTaskGroup(of: (Name, TypeInference).self) { group in
            for collection in collections {
                group.addTask {
                    try await pool.runIfActive {
                        var inference = TypeInference()
                        try collection.read(progress) { inference.add($0, of: collection.name) }
                        return (collection.name, inference)
                    }
                }
            }
            var found: [Name: TypeInference] = [:]
            for try await (name, inference) in group { found[name] = inference }
            return found
        }
    }
}

package struct ImportOptions: Sendable {
    /// Whether to read everything and report the result without writing to the database.
    package var isDryRun = false
    /// Whether the import of a class fails if an object or index can't be imported exactly. Other classes continue.
    package var isStrict = false
    /// Whether to add objects to classes that already have objects.
    package var merges = false
    /// Classes whose existing objects are replaced.
    package var replaces: Set<Name> = []
    /// The classes to import, or nil for all.
    package var classes: Set<Name>?
    /// Field types that override those of the source, by class and field.
    package var types: [Name: [Name: FieldType]] = [:]
    /// The number of classes loaded at the same time.
    package var jobs = 2
    /// The path of the rejects file, which lists everything that couldn't be imported exactly.
    package var rejects = "roost-rejects.jsonl"
    /// A folder for data that must be unpacked or downloaded first.
    package var scratch = "import"

    package init() {}

    /// Parses a field's type, such as `Game.score=Number` or `Game.owner=Pointer<_User>`. Returns nil if it is invalid.
    package static func type(_ text: String) -> (className: Name, field: Name, type: FieldType)? {
        let sides = text.parts(between: "=")
        guard sides.count == 2 else { return nil }
        let path = sides[0].parts(between: ".")
        guard path.count == 2, !path[0].isEmpty, !path[1].isEmpty else { return nil }
        var name = sides[1]
        var target: Name?
        if name.hasSuffix(">"), let open = name.firstIndex(of: "<") {
            target = Name(name[name.index(after: open)...].dropLast())
            name = String(name[..<open])
        }
        return FieldType(name: name, targetClass: target).map { (Name(path[0]), Name(path[1]), $0) }
    }
}
