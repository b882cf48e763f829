import JSON
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// Imports rows of an export with their original ids and dates.
public struct Imports: Sendable, BackendPart {
    let backend: Backend

    private static let pageSize = 100

    private struct PlannedRow {
        var place: Int
        var row: ImportRow
        var write: PlannedWrite

        var rowWrite: ImportRows.RowWrite {
            write.access == nil
                ? .insert(objectId: write.objectId, write.write) : .update(objectId: write.objectId, write.write)
        }
    }

    /// Imports objects in pages, updating objects whose ids exist and creating the others.
    ///
    /// Only rows without an id get the class's defaults and default ACL, and must have the required fields. A new user
    /// with an id but no ACL still gets the default ACL of users.
    ///
    /// - Returns: The result of each row in order. A rejected row doesn't affect the others.
    /// - Throws: 103 if the class name is invalid, 119 for the read-only master key, 1 or `ServiceUnavailable` if the
    ///   database is unavailable. Earlier pages stay stored. Repeating the import updates rows with an id, but creates
    ///   those without one again.
    public func objects(_ className: String, _ rows: [JSONValue], _ context: RequestContext) async throws
        -> [Result<WriteResult, any Error>]
    {
        try context.caller.check("create", of: className)
        guard Names.isClassName(className), !Names.isJoinName(className) else {
            throw ParseError(ParseError.invalidClassName, "Invalid classname: \(className)")
        }
        var outcomes: [Result<WriteResult, any Error>] = []
        outcomes.reserveCapacity(rows.count)
        for start in stride(from: 0, to: rows.count, by: Self.pageSize) {
            let page = rows[start..<min(start + Self.pageSize, rows.count)]
            do {
                outcomes += try await importPage(Array(page), className, context)
            } catch {
                await invalidateIfNeeded(className)
                throw error
            }
            await invalidateIfNeeded(className)
        }
        return outcomes
    }

    private func invalidateIfNeeded(_ className: String) async {
        if ["_User", "_Role", "_Session"].contains(className) { await backend.caches.invalidateRoles() }
    }

    private func importPage(_ values: [JSONValue], _ className: String, _ context: RequestContext) async throws
        -> [Result<WriteResult, any Error>]
    {
        var outcomes = [Result<WriteResult, any Error>](
            repeating: .failure(ParseError.notFound), count: values.count)
        var rows: [(place: Int, row: ImportRow)] = []
        for (place, value) in values.enumerated() {
            do throws(ParseError) {
                let row = try ImportRow(value, of: className)
                rows.append((place, row))
            } catch {
                outcomes[place] = .failure(error)
            }
        }
        var known = try await store.imports.existing(rows.compactMap(\.row.objectId), of: className)
        var planned: [PlannedRow] = []
        for (place, row) in rows {
            do {
                let isCreating = row.objectId.map { !known.contains($0) } ?? true
                planned.append(try await plan(row, place, className, isCreating: isCreating, context))
                // A second row with the same id updates the object that the first one creates.
                if let id = row.objectId { known.insert(Name(id)) }
            } catch let error as ParseError {
                outcomes[place] = .failure(error)
            }
        }
        let isStored = await store(planned, className)
        for (row, isStored) in zip(planned, isStored) {
            outcomes[row.place] =
                isStored ? .success(row.write.result) : try await storeAlone(row, className, context)
        }
        let failures = planned.map { row in
            if case .failure(let error as ParseError) = outcomes[row.place] { error.code } else { 0 }
        }
        if !failures.isEmpty, failures.allSatisfy({ $0 == ParseError.internalServerError }) {
            throw ParseError(ParseError.internalServerError, "An internal server error occurred")
        }
        return outcomes
    }

    /// Stores a page in one transaction and returns whether each row is stored. A rejected row rolls back the page.
    private func store(_ rows: [PlannedRow], _ className: String) async -> [Bool] {
        guard !rows.isEmpty else { return [] }
        return (try? await store.imports.write(rows.map(\.rowWrite), to: className)) ?? rows.map { _ in false }
    }

    private func storeAlone(_ planned: PlannedRow, _ className: String, _ context: RequestContext) async throws
        -> Result<WriteResult, any Error>
    {
        do {
            if try await store.imports.write([planned.rowWrite], to: className)[0] {
                return .success(planned.write.result)
            }
            // Another request deleted the object, or the row that should have created it was rejected.
            let again = try await plan(planned.row, planned.place, className, isCreating: true, context)
            _ = try await store.imports.write([again.rowWrite], to: className)
            return .success(again.write.result)
        } catch let error as ParseError {
            guard error.code == ParseError.duplicateValue, case .insert(let id, _) = planned.rowWrite,
                try await store.imports.existing([id], of: className).contains(id)
            else { return .failure(error) }
        }
        // Another request has created the object in the meantime.
        do {
            let again = try await plan(planned.row, planned.place, className, isCreating: false, context)
            return try await store.imports.write([again.rowWrite], to: className)[0]
                ? .success(again.write.result) : .failure(ParseError.notFound)
        } catch let error as ParseError {
            return .failure(error)
        }
    }

    private func plan(
        _ row: ImportRow, _ place: Int, _ className: String, isCreating: Bool, _ context: RequestContext
    ) async throws -> PlannedRow {
        let id = row.objectId ?? Identifiers.alphanumeric(configuration.objectIdSize)
        var save = Save(className, isCreating ? nil : id, row.fields, context)
        save.newId = id
        let outcome = try await SavePipeline(backend: backend).plan(
            save, rules: ImportRules(backend: backend, row: row))
        guard case .planned(let planned) = outcome, let write = planned.write else { throw ParseError.notFound }
        return PlannedRow(place: place, row: row, write: write)
    }
}
