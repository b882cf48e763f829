import BSON
import JSON
import NIOPosix
import ParseModel

/// Finds the target classes of relations if no schema or row names them, as in Parse.com exports: the class of the
/// objects that the relation contains.
struct RelationTargets: Sendable {
    private(set) var found: [ImportPlan.Relation: Name] = [:]
    private(set) var notes: [String] = []

    /// The maximum number of objects to look for, per relation.
    private static let maxIds = 10_000

    private struct Search {
        let relation: ImportPlan.Relation
        var idCount = 0
        var counts: [Name: Int] = [:]

        /// The only class that has all of the objects or, if none has all, the only class that has any.
        var target: Name? {
            let whole = counts.filter { $0.value == idCount }
            if whole.count == 1 { return whole.keys.first }
            return whole.isEmpty && counts.count == 1 ? counts.keys.first : nil
        }
    }

    private struct Searches {
        var all: [Search] = []
        var byId: [Name: [Int]] = [:]

        mutating func add(_ join: SourceCatalog.Collection) throws {
            guard let relation = ImportPlan.Relation(join.name) else { return }
            var ids: Set<Name> = []
            let reader = try join.open()
            while ids.count < RelationTargets.maxIds, let record = try reader.next() {
                if let id = RelationTargets.id("relatedId", "relatedId", of: record) { ids.insert(id) }
            }
            for id in ids { byId[id, default: []].append(all.count) }
            all.append(Search(relation: relation, idCount: ids.count))
        }
    }

    /// Searches all classes of a source for the relations' objects.
    static func find(
        of joins: [SourceCatalog.Collection], in catalog: SourceCatalog, _ progress: ImportProgress,
        _ pool: NIOThreadPool
    ) async throws -> RelationTargets {
        guard !joins.isEmpty else { return RelationTargets() }
        return try await pool.runIfActive {
            var searches = Searches()
            for join in joins { try searches.add(join) }
            guard !searches.byId.isEmpty else { return RelationTargets() }
            let classes = catalog.collections.filter {
                !ImportPlan.isJoin($0.name) && !SystemClass.volatileNames.contains($0.name)
            }
            progress.begin("finding the classes of relations", totalBytes: classes.reduce(0) { $0 + $1.size })
            for one in classes { try count(one, &searches, progress) }
            return RelationTargets(searches.all)
        }
    }

    private init(_ searches: [Search] = []) {
        for search in searches {
            let relation = search.relation
            if let target = search.target {
                found[relation] = target
            } else if !search.counts.isEmpty {
                let names = search.counts.keys.sorted().map(\.text).joined(separator: ", ")
                notes.append("objects of \(relation.owner).\(relation.field) are in several classes: \(names)")
            }
        }
    }

    private static func count(
        _ collection: SourceCatalog.Collection, _ searches: inout Searches, _ progress: ImportProgress
    ) throws {
        var known: Set<Name> = []
        try collection.read(progress) { record in
            // If objects have the same id, only the first is imported.
            guard let id = id("objectId", "_id", of: record), let indexes = searches.byId[id],
                known.insert(id).inserted
            else { return }
            for index in indexes { searches.all[index].counts[collection.name, default: 0] += 1 }
        }
    }

    private static func id(_ key: Name, _ mongoKey: Name, of record: SourceRecord) -> Name? {
        switch record {
        case .mongo(let document): document[mongoKey].flatMap(MongoFields.id).map { Name($0) }
        case .rest(let object): object[key].flatMap(RESTFields.id).map { Name($0) }
        case .unreadable: nil
        }
    }
}
