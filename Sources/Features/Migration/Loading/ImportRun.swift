import FileStorage
import JSON
import Limits
import Logging
import NIOPosix
import ParseModel
import ParseStorage
import Platform
import Postgres
import Synchronization

/// Imports a source into a database.
package struct ImportRun: Sendable {
    /// The error for an import that can't start.
    package struct Refusal: Error, CustomStringConvertible {
        /// The message shown to the operator.
        package let description: String
    }

    let source: String
    let options: ImportOptions
    let progress: ImportProgress
    let logger: Logger

    package init(_ source: String, _ options: ImportOptions, _ progress: ImportProgress, logger: Logger) {
        self.source = source
        self.options = options
        self.progress = progress
        self.logger = logger
    }

    /// Reads the whole source and reports how it would be imported. Writes only the rejects file and temporary files.
    ///
    /// - Throws: ``Refusal`` if the options name unknown classes, `CancellationError`, or the error of reading the
    ///   source or writing a file.
    package func inspect() async throws -> ImportReport {
        try await withPool { pool in
            let (catalog, opened) = try await open(pool)
            defer { opened.removeUnpacked() }
            let plan = try await ImportPlan.make(catalog, options, progress, pool)
            var report = ImportReport(notes: plan.notes)
            report.isDryRun = true
            report.files = catalog.files.count + (try await GridFiles.count(catalog, pool))
            progress.begin("looking", totalBytes: plan.jobs.reduce(0) { $0 + $1.collection.size })
            let file = Mutex(RejectFile(options.rejects))
            report.classes = await each(plan.jobs, pool) { job in
                let loader = ClassLoader(
                    collection: job.collection, plan: job.plan, isStrict: options.isStrict, progress: progress)
                do {
                    return try loader.inspect { line in try file.withLock { try $0.add(line) } }
                } catch {
                    return .failed(job.name.text, error)
                }
            }.sorted { $0.name < $1.name }
            report.rejects = try file.withLock { try $0.close() }
            report.notes += progress.notes
            try Task.checkCancellation()
            return report
        }
    }

    /// Imports the source.
    ///
    /// - Parameters:
    ///   - connectionString: The database, as a libpq connection string.
    ///   - files: The store for uploaded files.
    ///   - storedFiles: The store for files copied unchanged from another server's storage, which may be encrypted.
    /// - Returns: The report. A class that fails doesn't stop the others.
    /// - Throws: ``Refusal`` if the import can't start, `CancellationError`, or a source, database or file error.
    package func load(
        into connectionString: String, files: any FileStorage, storedFiles: any FileStorage
    ) async throws -> ImportReport {
        try await withPool { pool in
            let (catalog, opened) = try await open(pool)
            let plan = try await ImportPlan.make(catalog, options, progress, pool)
            let classes = try await prepareDatabase(connectionString)
            defer { Task { [client = classes.client] in await client.shutdown() } }
            let fileImport = FileImport(
                catalog: catalog, files: files, storedFiles: storedFiles, scratch: options.scratch, progress: progress)
            let report = try await ControlThread.hold(connectionString, logger: logger) { control in
                let start = try await control.run { storage in try begin(plan, opened.fingerprint, storage) }
                if start.isDone {
                    var report = self.report(plan.jobs.map { (start.records[$0.name], nil) }, plan.notes)
                    report.wasDone = true
                    return report
                }
                try await adopt(plan, classes.catalog)
                progress.begin("loading", totalBytes: plan.jobs.reduce(0) { $0 + $1.collection.size })
                let outcomes = await loadClasses(plan, start.records, opened.fingerprint, connectionString, pool)
                try Task.checkCancellation()
                var report = self.report(outcomes, plan.notes)
                let (count, notes) = try await fileImport.run(pool)
                report.files = count
                report.notes += progress.notes + notes
                report.rejects = try await control.run { storage in
                    var file = RejectFile(options.rejects)
                    try storage.eachReject(of: opened.fingerprint) { try file.add($0) }
                    return try file.close()
                }
                let isWhole = report.isComplete
                try await control.run { try $0.finish(opened.fingerprint, isWhole: isWhole) }
                return report
            }
            if report.isComplete { opened.removeUnpacked() }
            return report
        }
    }

    private func withPool<R: Sendable>(_ body: (NIOThreadPool) async throws -> R) async throws -> R {
        let pool = NIOThreadPool(numberOfThreads: max(1, options.jobs))
        pool.start()
        return try await withCleanup {
            try await body(pool)
        } cleanUp: {
            try? await pool.shutdownGracefully()
        }
    }

    private func open(_ pool: NIOThreadPool) async throws -> (SourceCatalog, SourceOpener.Opened) {
        try await pool.runIfActive { [source, options, progress] in
            let opened = try SourceOpener.open(source, scratch: options.scratch)
            // Checksums are verified before anything else is read.
            try SourceChecksums(of: opened.entries)?.check(progress)
            return (try SourceCatalog(opened.entries, notes: opened.notes), opened)
        }
    }

    private func prepareDatabase(_ connectionString: String) async throws
        -> (client: PostgresClient, catalog: ParseStorage.SchemaCatalog)
    {
        progress.begin("preparing the database", totalBytes: 0)
        var configuration = PostgresConfiguration(connectionString: connectionString)
        configuration.sharedConnections = 1
        configuration.exclusiveConnections = 4
        configuration.statementTimeout = .zero
        configuration.transactionTimeout = .seconds(60)
        let client = PostgresClient(configuration: configuration, logger: logger)
        do {
            try await client.start()
            let catalog = ParseStorage.SchemaCatalog(
                client: client, senderId: "import-\(UUID().uuidString)", refusesMixedMembership: false, logger: logger)
            try await DatabaseInstaller(client: client, catalog: catalog, logger: logger).install(onlyLoads: true)
            return (client, catalog)
        } catch {
            await client.shutdown()
            throw error
        }
    }

    private func adopt(_ plan: ImportPlan, _ catalog: ParseStorage.SchemaCatalog) async throws {
        var faults: [String] = []
        for schema in plan.jobs.compactMap(\.schema) + plan.emptyClasses
        where !SystemClass.volatileNames.contains(Name(schema.name)) {
            do {
                try await catalog.adopt(schema, outweighs: options.replaces.contains(Name(schema.name)))
            } catch let error as ParseError {
                faults.append("\(schema.name): \(error.message)")
            }
        }
        guard faults.isEmpty else {
            throw Refusal(
                description: "the database's classes differ from the source's:\n  " + faults.joined(separator: "\n  "))
        }
    }

    // MARK: Earlier runs

    /// Finds the classes that are already imported and checks the others. Discards unfinished imports of other sources.
    private func begin(
        _ plan: ImportPlan, _ fingerprint: String, _ storage: ImportStorage
    ) throws -> (records: [Name: ImportRecord], isDone: Bool) {
        guard try storage.begin() else { throw Refusal(description: "another import into this database is running") }
        try storage.discardOthers(than: fingerprint)
        var records: [Name: ImportRecord] = [:]
        for record in try storage.records(of: fingerprint) { records[Name(record.name)] = record }
        let areLoaded = plan.jobs.allSatisfy { records[$0.name]?.state == .done }
        if areLoaded, !plan.jobs.isEmpty {
            // Files are imported after the classes, so an import interrupted at the files continues there. `--merge`
            // loads all classes again, `--replace` only those that it names.
            guard options.merges || !options.replaces.isEmpty else {
                return (records, try storage.isFinished(fingerprint))
            }
            for job in plan.jobs where options.merges || replaces(job) {
                if let record = records.removeValue(forKey: job.name) { try storage.discard(record.number) }
            }
        }
        var full: [String] = []
        for job in plan.jobs {
            if let record = records[job.name] {
                guard record.state != .done else { continue }
                if record.mode == mode(job), try storage.fits(record, job.plan.table) { continue }
                // The mode or the field types have changed since the record was created.
                try storage.discard(record.number)
                records[job.name] = nil
            }
            if mode(job) == .fill, try !storage.isEmpty(job.plan.table.name) { full.append(job.name.text) }
        }
        guard full.isEmpty else {
            throw Refusal(
                description: "these classes already have objects: \(full.sorted().joined(separator: ", ")). "
                    + "--merge adds the source's objects, --replace CLASS replaces them")
        }
        return (records, false)
    }

    private func replaces(_ job: ImportPlan.Job) -> Bool { options.replaces.contains(ImportPlan.owner(job.name)) }

    private func mode(_ job: ImportPlan.Job) -> ImportRecord.Mode {
        replaces(job) ? .replace : options.merges ? .merge : .fill
    }

    // MARK: Loading

    private func loadClasses(
        _ plan: ImportPlan, _ records: [Name: ImportRecord], _ fingerprint: String, _ connectionString: String,
        _ pool: NIOThreadPool
    ) async -> [(ImportRecord?, ImportReport.Class?)] {
        await each(plan.jobs, pool) { job in
            let name = job.name.text
            do {
                try progress.check()
                if let record = records[job.name], record.state == .done {
                    progress.add(bytes: job.collection.size, documents: 0)
                    return (record, nil)
                }
                let storage = try ImportStorage(connectionString: connectionString, logger: logger)
                let record =
                    try records[job.name]
                    ?? storage.begin(job.plan.table, source: fingerprint, mode: mode(job))
                let loader = ClassLoader(
                    collection: job.collection, plan: job.plan, isStrict: options.isStrict, progress: progress)
                let done = try loader.run(record, storage)
                progress.finish(
                    "\(name): \(done.rows) rows" + (done.rejects > 0 ? ", \(done.rejects) rejects" : ""))
                return (done, nil)
            } catch {
                let failed = ImportReport.Class.failed(name, error)
                progress.finish("\(name): not imported: \(failed.failure ?? "")")
                return (nil, failed)
            }
        }
    }

    private func report(_ outcomes: [(ImportRecord?, ImportReport.Class?)], _ notes: [String]) -> ImportReport {
        var report = ImportReport(notes: notes)
        report.classes = outcomes.compactMap { record, failed in
            failed
                ?? record.map {
                    ImportReport.Class(name: $0.name, documents: $0.documents, rows: $0.rows, rejects: $0.rejects)
                }
        }.sorted { $0.name < $1.name }
        return report
    }

    /// Runs `body` for each job on blocking threads, several at once, roughly in their order.
    private func each<R: Sendable>(
        _ jobs: [ImportPlan.Job], _ pool: NIOThreadPool, _ body: @escaping @Sendable (ImportPlan.Job) -> R
    ) async -> [R] {
        await withTaskGroup(of: R?.self) { group in
            // The threads of the pool take the jobs in the order of submission.
            for job in jobs { group.addTask { try? await pool.runIfActive { body(job) } } }
            var results: [R] = []
            for await result in group { if let result { results.append(result) } }
            return results
        }
    }
}
