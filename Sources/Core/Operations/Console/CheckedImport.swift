public import JSON
public import OrderedCollections
import ParseModel
import ParseStorage
public import Rules

/// An import of objects that makes no fields, looks through its rows before they are stored, and can stop there.
public struct CheckedImport: Sendable {
    /// What happens to rows with ids that objects have.
    public enum Existing: String, Sendable {
        /// They are left out.
        case skip
        /// Their fields take the place of the object's; it keeps the others.
        case replace
        /// Nothing is stored from the first of them on.
        case stop
    }

    /// What became of some rows.
    public struct Report: Sendable {
        /// How many were stored, or would be.
        public var stored = 0
        /// How many were left out, since there are objects with their ids.
        public var skipped = 0
        /// Which were refused, by their indices, and why.
        public var refused: [(place: Int, error: any Error)] = []
        /// The place of the row that ended the import.
        public var stoppedAt: Int?
    }

    /// The request.
    public struct Wish: Sendable {
        let className: String
        let existing: Existing
        let newFields: JSONObject
        let isDryRun: Bool
        let takesHidden: Bool

        /// - Parameters:
        ///   - newFields: Fields that count as there in a dry run, as the schemas API describes them.
        ///   - isDryRun: Whether nothing is stored.
        ///   - takesHidden: Whether rows may bring what no schema lists, such as hashes of passwords.
        public init(
            className: String, existing: Existing, newFields: JSONObject = [:], isDryRun: Bool, takesHidden: Bool
        ) {
            self.className = className
            self.existing = existing
            self.newFields = newFields
            self.isDryRun = isDryRun
            self.takesHidden = takesHidden
        }
    }

    let backend: Backend
    private static let pieceSize = 100

    /// Looks through rows, and stores them unless it is a dry run.
    ///
    /// - Parameter refuse: Refuses a row for a reason of the caller's.
    /// - Throws: 103 for a class that there is not; 1 when the database does not answer.
    public func run(
        _ rows: [JSONValue], _ wish: Wish, _ context: RequestContext, refuse: (JSONObject) throws -> Void
    ) async throws -> Report {
        guard var schema = backend.catalog.schema(wish.className) else {
            throw ParseError(ParseError.invalidClassName, "Class \(wish.className) does not exist.")
        }
        if wish.isDryRun {
            let added = try SchemaRules.newFields(.object(wish.newFields), of: wish.className, known: schema)
            for (name, field) in added { schema.fields[name] = field }
        }
        var report = Report()
        var parsed: [(place: Int, row: ImportRow)] = []
        for (place, value) in rows.enumerated() {
            // Others have a turn on the thread.
            if place % Self.pieceSize == 0 { await Task.yield() }
            do {
                guard let object = value.objectValue else {
                    throw ParseError(ParseError.invalidJSON, "A row must be an object.")
                }
                try refuse(object)
                try backend.configuration.requestKeywordDenylist.check(object)
                let row = try ImportRow(value, of: wish.className)
                guard wish.takesHidden || row.hidden.isEmpty else {
                    throw ParseError(
                        ParseError.operationForbidden, "Only developers can import password hashes and tokens.")
                }
                try check(row, schema)
                parsed.append((place, row))
            } catch {
                report.refused.append((place, error))
            }
        }
        var known = try await backend.store.imports.existing(parsed.compactMap(\.row.objectId), of: wish.className)
        var positions: [Int] = []
        for (place, row) in parsed {
            if let id = row.objectId, !known.insert(Name(id)).inserted {
                if wish.existing == .stop {
                    report.stoppedAt = place
                    break
                }
                if wish.existing == .skip {
                    report.skipped += 1
                    continue
                }
            }
            positions.append(place)
        }
        if let end = report.stoppedAt { report.refused.removeAll { $0.place > end } }
        guard !wish.isDryRun else {
            report.stored = positions.count
            return report
        }
        let outcomes = try await backend.imports.objects(wish.className, positions.map { rows[$0] }, context)
        for (place, outcome) in zip(positions, outcomes) {
            switch outcome {
            case .success: report.stored += 1
            case .failure(let error): report.refused.append((place, error))
            }
        }
        report.refused.sort { $0.place < $1.place }
        return report
    }

    /// Rejects what saving the row would reject, short of database checks.
    private func check(_ row: ImportRow, _ schema: ClassSchema) throws {
        var operations = try WrittenFields.operations(row.fields, schema.name, isCreating: true)
        if let field = try WrittenFields.newFields(operations, in: schema).keys.first {
            throw ParseError(ParseError.invalidKeyName, "\(schema.name) has no field \(field).")
        }
        guard row.objectId == nil else { return }
        // Required fields may have defaults.
        _ = try WrittenFields.applyDefaults(
            &operations, hasACL: row.acl != nil || schema.name == "_User" || ObjectACL.preset(schema, .server) != nil,
            schema, isCreating: true)
    }
}
