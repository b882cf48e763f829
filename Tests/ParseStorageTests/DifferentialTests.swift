import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import TestTools
import Testing

@Suite("Random filters and updates, compared with models in memory")
struct DifferentialTests {
    private static let schemas = 40
    private static let rows = 40
    private static let filters = Samples.count(500)
    /// The number of concurrent groups.
    private static let groups = 10
    private static let updatedSchemas = 40
    /// Sequences of updates per class, each of a separate object.
    private static let sequences = Samples.count(500)
    private static let operations = 2

    @Test("A random filter finds the same objects as the in-memory matcher")
    func filters() async throws {
        try await TestStore.run { test in
            var telling = 0
            for seed in 0..<UInt64(Self.schemas) {
                var random = DifferentialRandom(seed: seed)
                let subject = DifferentialClass(name: "D\(seed)", rowCount: Self.rows, random: &random)
                try await Self.fill(test, subject)
                let filters = DifferentialFilters(subject: subject)
                let conditions = (0..<Self.filters).map { _ in filters.condition(&random) }
                telling += await withTaskGroup(of: Int.self) { tasks in
                    for group in 0..<Self.groups {
                        tasks.addTask {
                            var telling = 0
                            for index in stride(from: group, to: conditions.count, by: Self.groups) {
                                let found = await Self.compare(test, subject, conditions[index], seed: seed)
                                if 0 < found, found < Self.rows { telling += 1 }
                            }
                            return telling
                        }
                    }
                    return await tasks.reduce(0, +)
                }
            }
            // Filters that match all objects or none prove little, so enough of them must match some.
            #expect(telling > Self.schemas * Self.filters / 3)
        }
    }

    private static func fill(_ test: TestStore, _ subject: DifferentialClass) async throws {
        _ = try await test.store.ensure(subject.name, subject.fields)
        try await test.createAll(subject.name, subject.rows)
    }

    /// Compares the database with the model, and returns the number of matching objects.
    private static func compare(
        _ test: TestStore, _ subject: DifferentialClass, _ condition: JSONObject, seed: UInt64
    ) async -> Int {
        let text = JSONValue.object(condition).text
        do {
            let filter = try FilterParser(isMaster: true, now: 0).parse(condition)
            let schema = ClassSchema(name: subject.name, fields: subject.fields)
            let matcher = try FilterMatcher(filter, schema: schema)
            var budget = MatchBudget(steps: .max)
            let expected = try subject.rows.filter { try matcher.matches($0.value, &budget) }.map(\.key)
            var request = ObjectStore.FindRequest(className: subject.name)
            request.filter = filter
            request.keys = []
            let result = try await test.store.find(request)
            let found = (0..<result.rowCount).compactMap(result.objectId).sorted()
            guard found != expected else { return found.count }
            let wrong = Set(found).symmetricDifference(expected).sorted().first ?? ""
            let row = subject.rows[wrong].map { JSONValue.object($0).text } ?? ""
            Issue.record(
                """
                seed \(seed), where \(text)
                expected \(expected.joined(separator: " "))
                found \(found.joined(separator: " "))
                for example \(wrong): \(row)
                """)
            return expected.count
        } catch {
            Issue.record("seed \(seed), where \(text) failed: \(error)")
            return 0
        }
    }

    @Test("Random updates store the same values as the in-memory model")
    func updates() async throws {
        try await TestStore.run { test in
            for seed in 0..<UInt64(Self.updatedSchemas) {
                var random = DifferentialRandom(seed: 1000 + seed)
                let subject = DifferentialClass(name: "U\(seed)", rowCount: Self.sequences, random: &random)
                try await Self.fill(test, subject)
                let cases = subject.rows.map { (id: $0.key, row: $0.value, seed: random.next()) }
                await withTaskGroup(of: Void.self) { tasks in
                    for group in 0..<Self.groups {
                        tasks.addTask {
                            for index in stride(from: group, to: cases.count, by: Self.groups) {
                                let one = cases[index]
                                await Self.update(test, subject, one.id, one.row, seed: one.seed)
                            }
                        }
                    }
                }
            }
        }
    }

    /// Updates an object several times. Each response, and finally the object, must equal the model's.
    private static func update(
        _ test: TestStore, _ subject: DifferentialClass, _ id: String, _ row: JSONObject, seed: UInt64
    ) async {
        var random = DifferentialRandom(seed: seed)
        var model = DifferentialUpdates(subject: subject, object: row)
        let fields = Array(subject.fields.keys)
        for _ in 0..<operations {
            let before = model.object
            let body = model.next(&random)
            let text =
                "class \(subject.name), object \(id), seed \(seed), update \(JSONValue.object(body).text) of "
                + JSONValue.object(before).text
            do {
                let echo =
                    try await test.update(subject.name, id, JSONValue.object(body).text, echo: fields.texts) ?? [:]
                let found = read(echo, subject)
                guard UnorderedValue(found) == UnorderedValue(.object(model.object)) else {
                    Issue.record("\(text)\nexpected \(JSONValue.object(model.object).text)\nfound \(found.text)")
                    return
                }
            } catch {
                Issue.record("\(text) failed: \(error)")
                return
            }
        }
        let found = read((try? await test.object(subject.name, id)) ?? [:], subject)
        #expect(UnorderedValue(found) == UnorderedValue(.object(model.object)), "seed \(seed), \(subject.name) \(id)")
    }

    /// Returns the fields as they were written. Reading adds the URL of a file.
    private static func read(_ object: JSONObject, _ subject: DifferentialClass) -> JSONValue {
        var fields: JSONObject = [:]
        for (field, value) in object {
            guard let type = subject.fields[field]?.type else { continue }
            fields[field] = type == .file ? ["__type": "File", "name": value["name"] ?? .null] : value
        }
        return .object(fields)
    }
}
