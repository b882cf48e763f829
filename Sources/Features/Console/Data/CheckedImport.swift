import JSON
internal import Operations
internal import ParseModel
import Rules

/// An import that validates rows before storing them, creates no fields, and can run as a dry run.
struct CheckedImport: Sendable {
    /// The action for rows whose ids already exist or are repeated in the import.
    enum Existing: String, Sendable {
        /// Skips the row.
        case skip
        /// Stores the row's fields and keeps the object's other fields.
        case replace
        /// Stops at the first such row. Rows after it are not stored.
        case stop
    }

    /// The result of an import.
    struct Report: Sendable {
        /// The number of rows stored, or in a dry run the number that would be stored.
        var stored = 0
        /// The number of rows skipped because of their ids.
        var skipped = 0
        /// The rejected rows, by index, with their errors.
        var refused: [(place: Int, error: any Error)] = []
        /// The index of the row whose id stopped the import, or nil if it ran to the end.
        var stoppedAt: Int?
    }

    let backend: Backend
    private static let pieceSize = 100

    /// Checks the rows, and stores the accepted ones unless it is a dry run.
    ///
    /// - Parameters:
    ///   - existing: The action for rows whose ids exist.
    ///   - newFields: Fields that a dry run treats as existing, in the format of the schemas API.
    ///   - isDryRun: Whether rows are only checked.
    ///   - takesHidden: Whether rows may contain internal fields such as password hashes.
    ///   - refuse: An additional check, which throws to reject a row.
    /// - Throws: 103 if the class doesn't exist, the error of invalid new fields, or the errors of
    ///   ``Imports/objects(_:_:_:)``.
    func run(
        _ rows: [JSONValue], of className: String, existing: Existing, newFields: JSONObject, isDryRun: Bool,
        takesHidden: Bool, _ context: RequestContext, refuse: (JSONObject) throws -> Void
    ) async throws -> Report {
        guard var schema = backend.catalog.schema(className) else { throw ParseError.missingClass(className) }
        if isDryRun {
            let added = try SchemaRules.newFields(.object(newFields), of: className, known: schema)
            for (name, field) in added { schema.fields[name] = field }
        }
        var report = Report()
        var parsed: [(place: Int, row: ImportRow)] = []
        for (place, value) in rows.enumerated() {
            // Lets other tasks run on this thread.
            if place % Self.pieceSize == 0 { await Task.yield() }
            do {
                guard let object = value.objectValue else {
                    throw ParseError(ParseError.invalidJSON, "A row must be an object.")
                }
                try refuse(object)
                try backend.configuration.requestKeywordDenylist.check(object)
                let row = try ImportRow(value, of: className)
                guard takesHidden || row.hidden.isEmpty else {
                    throw ParseError(
                        ParseError.operationForbidden, "Only developers and owners can import hashes and tokens.")
                }
                try check(row, schema)
                parsed.append((place, row))
            } catch {
                report.refused.append((place, error))
            }
        }
        var known = try await backend.store.imports.existing(parsed.compactMap(\.row.objectId), of: className)
        var positions: [Int] = []
        for (place, row) in parsed {
            if let id = row.objectId, !known.insert(Name(id)).inserted {
                if existing == .stop {
                    report.stoppedAt = place
                    break
                }
                if existing == .skip {
                    report.skipped += 1
                    continue
                }
            }
            positions.append(place)
        }
        if let end = report.stoppedAt { report.refused.removeAll { $0.place > end } }
        guard !isDryRun else {
            report.stored = positions.count
            return report
        }
        let outcomes = try await backend.imports.objects(className, positions.map { rows[$0] }, context)
        for (place, outcome) in zip(positions, outcomes) {
            switch outcome {
            case .success: report.stored += 1
            case .failure(let error): report.refused.append((place, error))
            }
        }
        report.refused.sort { $0.place < $1.place }
        return report
    }

    /// Runs the checks of a save that need no database.
    private func check(_ row: ImportRow, _ schema: ClassSchema) throws {
        var operations = try WrittenFields.operations(row.fields, schema.name, isCreating: true)
        if let field = try WrittenFields.newFields(operations, in: schema).keys.first {
            throw ParseError(ParseError.invalidKeyName, "Class \(schema.name) has no field \(field).")
        }
        guard row.objectId == nil else { return }
        // Required fields may have defaults.
        _ = try WrittenFields.applyDefaults(
            &operations, hasACL: row.acl != nil || schema.name == "_User" || ObjectACL.preset(schema, .server) != nil,
            schema, isCreating: true)
    }
}
