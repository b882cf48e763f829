import FileStorage
import JSON
internal import Operations
internal import ParseModel
internal import ParseStorage
import Rules

/// The order of listed files: newest first, largest first, or alphabetical.
enum FileOrder: String, Sendable { case modified, size, name }

extension Files {
    private struct TookTooLong: Error {}

    private static let longest = Duration.seconds(10)

    /// Returns a page of files. Storages don't sort, so every page visits all files and retains only its own.
    ///
    /// - Parameters:
    ///   - prefix: The prefix of the file names.
    ///   - text: A text that the names must contain.
    ///   - after: The cursor `next` of the previous page, or nil for the first page.
    /// - Returns: `{"files":[{"name","type"?,"size","modified","url"}],"next"?,"total","bytes","isComplete"}`.
    ///   `isComplete` is false if the time limit was reached.
    /// - Throws: Errors of the storage.
    func page(
        prefix: String, text: String, order: FileOrder, after: String?, limit: Int, _ context: RequestContext
    ) async throws -> JSONObject {
        let links = backend.links(context)
        let end = ContinuousClock.now + Self.longest
        let edge = after.flatMap(Place.init(cursor:))
        var first: [(place: Place, file: ListedFile)] = []
        var (total, bytes, isComplete) = (0, Int64(0), true)
        do {
            try await storage.visit(prefix: prefix) { file in
                guard ContinuousClock.now < end else { throw TookTooLong() }
                guard text.isEmpty || file.name.utf8.firstRange(of: text.utf8) != nil else { return }
                total += 1
                bytes = min(bytes, 1 << 60) + file.size
                let place = Place(file, order)
                if let edge, !(edge < place) { return }
                if first.count > limit, let last = first.last, !(place < last.place) { return }
                let index = first.firstIndex { place < $0.place } ?? first.endIndex
                first.insert((place, file), at: index)
                if first.count > limit + 1 { first.removeLast() }
            }
        } catch is TookTooLong {
            isComplete = false
        }
        var answer: JSONObject = [
            "files": .array(first.prefix(limit).map { .object(json($0.file, links)) }), "total": .number(Double(total)),
            "bytes": .number(Double(bytes)), "isComplete": .bool(isComplete),
        ]
        if first.count > limit { answer["next"] = .string(first[limit - 1].place.cursor) }
        return answer
    }

    private func json(_ file: ListedFile, _ links: FileLinks) -> JSONObject {
        let milliseconds = Int64(file.modified.seconds) * 1_000 + Int64(file.modified.nanoseconds / 1_000_000)
        var json: JSONObject = [
            "name": .string(file.name), "size": .number(Double(file.size)),
            "modified": .string(ParseDate(milliseconds: milliseconds).iso), "url": .string(links.url(file.name)),
        ]
        if let type = FileTypes.type(ofFile: file.name) { json["type"] = .string(type.essence) }
        return json
    }

    private struct Place: Comparable {
        /// The sort value. Larger values come first.
        let value: Int64
        let name: String

        init(_ file: ListedFile, _ order: FileOrder) {
            name = file.name
            switch order {
            case .modified:
                value = Int64(file.modified.seconds) &* 1_000_000 &+ Int64(file.modified.nanoseconds / 1_000)
            case .size: value = file.size
            case .name: value = 0
            }
        }

        init?(cursor: String) {
            let parts = cursor.split(separator: "/", maxSplits: 1)
            guard parts.count == 2, let value = Int64(parts[0]) else { return nil }
            (self.value, name) = (value, String(parts[1]))
        }

        var cursor: String { "\(value)/\(name)" }

        static func < (left: Place, right: Place) -> Bool {
            left.value == right.value
                ? left.name.utf8.lexicographicallyPrecedes(right.name.utf8) : left.value > right.value
        }
    }
}
