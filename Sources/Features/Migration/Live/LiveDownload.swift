import JSON
import ParseModel
import Platform

/// Downloads the data of a running parse-server into a folder in export format, from which it is imported.
///
/// Pages through objects by `createdAt` and `objectId`. Paging by `skip` would get slower with each page, and would
/// miss objects if others are deleted meanwhile. After an interruption, completed classes aren't downloaded again.
package struct LiveDownload: Sendable {
    private let server: LiveServer
    private let folder: String
    private let wanted: Set<Name>?
    private let progress: ImportProgress

    private static let pageSize = 1000
    private static let unlisted: [Name] = ["_Audience", "_JobSchedule", "_PushStatus", "_JobStatus"]

    /// - Parameter classes: The classes to download, or nil for all.
    package init(_ server: LiveServer, to folder: String, classes: Set<Name>?, progress: ImportProgress) {
        self.server = server
        self.folder = folder
        wanted = classes
        self.progress = progress
    }

    /// Downloads the wanted classes with their files and, if all are wanted, the settings. Continues an interrupted run.
    ///
    /// - Returns: Notes for the report, for example on files that couldn't be downloaded.
    /// - Throws: `LiveServer.Failure`, `CancellationError`, or the error of writing to the folder.
    package func run() async throws -> [String] {
        try forgetOthers()
        if let notes = try fetchedNotes() { return notes }
        try PrivateFile.createFolder(folder)
        let start: JSONValue = ["request": request, "begun": .string(ParseDate.now.iso)]
        try Data(start.serialized()).write(to: URL(fileURLWithPath: startPath))
        try PrivateFile.createFolder(folder + "/files")
        let schemas = try await server.schemas()
        try write("_SCHEMA", schemas)
        var notes: [String] = []
        if server.address.maintenanceKey == nil {
            notes.append(
                "without the old server's maintenance key, password hashes aren't exported and users must choose new passwords"
            )
        }
        var files = LiveFiles(server: server, folder: folder + "/files")
        for schema in schemas {
            guard let name = schema["className"]?.nameValue, wanted?.contains(name) ?? true else { continue }
            // The name comes from the server and becomes a file name, so it isn't trusted.
            if let fault = ClassPlanner.fault(ofClass: name) {
                notes.append("\(name.text.debugDescription) is skipped: \(fault)")
                continue
            }
            let fields = schema["fields"]?.objectValue ?? [:]
            let fileFields = Set(fields.filter { $0.value["type"] == "File" }.keys)
            try await fetch(name, fileFields: fileFields, files: &files)
            for (field, type) in fields where type["type"] == "Relation" {
                guard let target = type["targetClass"]?.nameValue, Names.isFieldName(field.text, in: name.text) else {
                    continue
                }
                try await fetchRelation(field, of: name, to: target)
            }
        }
        for name in Self.unlisted where wanted?.contains(name) ?? true {
            do {
                try await fetch(name, fileFields: [], files: &files)
            } catch let failure as LiveServer.Failure {
                notes.append("\(name) is skipped: \(failure)")
            }
        }
        if wanted == nil { notes += try await fetchSettings() }
        notes += try await files.fetch(progress)
        let manifest: JSONObject = [
            "format": "roost-export", "version": 1, "notes": .array(notes.map { .string($0) }),
        ]
        try Data(manifest.serialized()).write(to: URL(fileURLWithPath: manifestPath))
        return notes
    }

    /// Discards an earlier download of other classes, or if only one of the two downloads has a maintenance key.
    private func forgetOthers() throws {
        guard FileManager.default.fileExists(atPath: folder) else { return }
        let start = FileManager.default.contents(atPath: startPath).flatMap { try? JSONValue(parsing: Array($0)) }
        if start?["request"] != request { try FileManager.default.removeItem(atPath: folder) }
    }

    private var request: JSONValue {
        [
            "classes": wanted.map { .array($0.sorted().map { .string($0.text) }) } ?? .null,
            "maintenanceKey": .bool(server.address.maintenanceKey != nil),
        ]
    }

    /// The path of the download's options and start time. Hidden, so that the file isn't imported as a class.
    private var startPath: String { "\(folder)/.fetched" }

    private var manifestPath: String { "\(folder)/\(SourceCatalog.manifest)" }

    /// Returns the notes of an earlier complete run and the time it began, or nil if there was none.
    private func fetchedNotes() throws -> [String]? {
        guard let data = FileManager.default.contents(atPath: manifestPath) else { return nil }
        let notes = try JSONValue(parsing: Array(data))["notes"]?.arrayValue?.compactMap(\.stringValue) ?? []
        let start = FileManager.default.contents(atPath: startPath).flatMap { try? JSONValue(parsing: Array($0)) }
        let begun = start?["begun"]?.stringValue ?? ""
        return ["an earlier run started to fetch this data at \(begun). Later changes are missing"] + notes
    }

    private func write(_ name: String, _ objects: [JSONObject]) throws {
        var file = try LiveFile("\(folder)/\(name).json")
        for object in objects { try file.add(object) }
        try file.close()
    }

    private func fetch(_ name: Name, fileFields: Set<Name>, files: inout LiveFiles) async throws {
        progress.begin("fetching \(name)", totalBytes: 0)
        let path = "\(folder)/\(name).json"
        if FileManager.default.fileExists(atPath: path) {
            return try files.collect(objectsIn: path, fileFields: fileFields)
        }
        var file = try LiveFile(path)
        func store(_ page: [JSONObject]) throws {
            for object in page {
                files.collect(object, fileFields: fileFields)
                try file.add(Self.exported(object, of: name))
            }
        }
        var last: (date: JSONValue, id: JSONValue)?
        var filter: JSONValue = ["createdAt": ["$exists": true]]
        while true {
            try progress.check()
            let page = try await page(name, filter, order: "createdAt,objectId")
            try store(page)
            progress.add(bytes: 0, documents: Int64(page.count))
            guard let object = page.last, let created = object["createdAt"], let id = object["objectId"] else { break }
            let date: JSONValue = ["__type": "Date", "iso": created]
            // If the server ignored the filter, this loop would never end.
            guard last.map({ $0.date != date || $0.id != id }) ?? true else {
                throw LiveServer.Failure(description: "\(name): the server returns the same objects repeatedly")
            }
            last = (date, id)
            filter = ["$or": [["createdAt": ["$gt": date]], ["createdAt": date, "objectId": ["$gt": id]]]]
        }
        // Objects that other tools inserted into the database may have no date.
        var undated: JSONObject = ["createdAt": ["$exists": false]]
        while true {
            let page = try await page(name, .object(undated), order: "objectId")
            try store(page)
            guard let id = page.last?["objectId"], undated["objectId"] != ["$gt": id] else { break }
            undated["objectId"] = ["$gt": id]
        }
        try file.close()
    }

    /// Fetches a page. Reduces its size if the response gets too large.
    private func page(_ name: Name, _ filter: JSONValue, order: String, keys: String? = nil) async throws
        -> [JSONObject]
    {
        var limit = Self.pageSize
        while true {
            do {
                return try await server.page(name, filter, order: order, keys: keys, limit: limit)
            } catch let failure as LiveServer.Failure {
                guard limit > 1, failure.description.contains("the response is larger than") else { throw failure }
                limit /= 10
            }
        }
    }

    private static func exported(_ object: JSONObject, of name: Name) -> JSONObject {
        guard name == "_User", let hash = object["password"]?.stringValue else { return object }
        // With the maintenance key, `password` contains the hash.
        var object = object
        object["password"] = nil
        if hash.hasPrefix("$2"), object["_hashed_password"] == nil { object["_hashed_password"] = .string(hash) }
        return object
    }

    /// Fetches a relation's members owner by owner, because the API has no other way.
    private func fetchRelation(_ field: Name, of name: Name, to target: Name) async throws {
        let path = "\(folder)/_Join:\(field):\(name).json"
        guard !FileManager.default.fileExists(atPath: path) else { return }
        progress.begin("fetching the relation \(field) of \(name)", totalBytes: 0)
        var file = try LiveFile(path)
        let owners = try LiveFile.reader("\(folder)/\(name).json")
        var ids: [JSONValue] = []
        while true {
            let record = try owners.next()
            if case .rest(let object)? = record, let id = object["objectId"] { ids.append(id) }
            guard ids.count == 8 || record == nil else { continue }
            try progress.check()
            let pairs = try await withThrowingTaskGroup(of: [JSONObject].self) { group in
                for id in ids { group.addTask { try await self.members(field, of: name, id, to: target) } }
                var pairs: [JSONObject] = []
                for try await some in group { pairs += some }
                return pairs
            }
            for pair in pairs { try file.add(pair) }
            ids = []
            if record == nil { break }
        }
        try file.close()
    }

    private func members(_ field: Name, of name: Name, _ id: JSONValue, to target: Name) async throws -> [JSONObject] {
        let owner: JSONValue = ["__type": "Pointer", "className": .string(name.text), "objectId": id]
        var filter: JSONObject = ["$relatedTo": ["object": owner, "key": .string(field.text)]]
        var pairs: [JSONObject] = []
        while true {
            let page = try await page(target, .object(filter), order: "objectId", keys: "objectId")
            pairs += page.compactMap { $0["objectId"].map { ["owningId": id, "relatedId": $0] } }
            guard let last = page.last?["objectId"], filter["objectId"] != ["$gt": last] else { return pairs }
            filter["objectId"] = ["$gt": last]
        }
    }

    /// Fetches the client configuration and webhooks, which aren't classes.
    private func fetchSettings() async throws -> [String] {
        progress.begin("fetching the configuration", totalBytes: 0)
        var notes: [String] = []
        do {
            let config = try await server.ask("/config", [:])
            let params = config["params"]?.objectValue ?? [:]
            if !params.isEmpty {
                var row: JSONObject = ["objectId": "1", "params": .object(params)]
                row["masterKeyOnly"] = config["masterKeyOnly"]
                try write("_GlobalConfig", [row])
            }
        } catch let failure as LiveServer.Failure {
            notes.append("_GlobalConfig is skipped: \(failure)")
        }
        do {
            var hooks: [JSONObject] = []
            for kind in ["functions", "triggers"] {
                hooks += try await server.ask("/hooks/\(kind)", [:]).arrayValue?.compactMap(\.objectValue) ?? []
            }
            if !hooks.isEmpty { try write("_Hooks", hooks) }
        } catch let failure as LiveServer.Failure {
            notes.append("_Hooks is skipped: \(failure)")
        }
        return notes
    }
}
