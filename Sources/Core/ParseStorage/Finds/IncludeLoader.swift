import JSON
import ParseModel
import Postgres
import Tasks

/// Fetches what is included, level by level: all classes of a level in one round trip.
struct IncludeLoader {
    /// Gives the caller's access to a class, or throws when the class may not be read at all.
    typealias AccessResolver = @Sendable (String) async throws -> ReadAccess

    let store: ObjectStore
    let place: ReadPlace
    let access: AccessResolver

    /// The most bytes that the answer may have.
    let sizeLimit: Int

    /// From how many bytes on values are shortened; nil for never.
    let shorten: Int?

    private struct Source {
        let result: PostgresResult
        let rows: Range<Int>
        let plan: ReadPlan
        let node: IncludeNode
        /// At how many positions of the answer each row is written.
        let positions: Int
    }

    private struct Target {
        var pointer: Pointer
        var node: IncludeNode
        var positions: Int
    }

    private struct Place: Hashable {
        let pointer: Pointer
        let node: ObjectIdentifier
    }

    func load(_ result: PostgresResult, _ plan: ReadPlan, _ node: IncludeNode) async throws -> IncludedObjects {
        var included = IncludedObjects()
        guard !node.children.isEmpty, result.rowCount > 0 else { return included }
        var sources = stride(from: 0, to: result.rowCount, by: Self.few).map { first in
            let rows = first..<min(first + Self.few, result.rowCount)
            return Source(result: result, rows: rows, plan: plan, node: node, positions: 1)
        }
        var accesses: [Name: ReadAccess] = [:]
        var isHeavy = result.size > HeavyWork.answerSize
        while !sources.isEmpty {
            let targets =
                isHeavy ? await HeavyWork.run { [sources] in Self.targets(of: sources) } : Self.targets(of: sources)
            included.reserve(targets.count)
            let wanted = Self.idsByClass(targets.compactMap { included.ask(for: $0.pointer) ? $0.pointer : nil })
            for className in wanted.keys where accesses[className] == nil {
                accesses[className] = try await access(className.text)
            }
            let found =
                place == .primary
                ? try await store.fetch(wanted, accesses, shorten: shorten)
                : try await store.fetch(wanted, accesses, place, shorten: shorten)
            for fetched in found {
                included.size += fetched.result.size
                if fetched.result.size > HeavyWork.answerSize { isHeavy = true }
                guard let idColumn = fetched.plan.index(of: "objectId") else { continue }
                for row in 0..<fetched.result.rowCount {
                    guard let id = fetched.result.string(row, idColumn) else { continue }
                    let hidden = fetched.hidden(row)
                    included.insert(
                        IncludedObjects.Found(
                            result: fetched.result, row: row, plan: fetched.plan, hidden: hidden),
                        Pointer(className: fetched.plan.className, objectId: id))
                }
            }
            sources = Self.sources(targets, &included)
            // What cannot be written need not be read: rows once, and objects in every place where they stand.
            guard included.size / 2 <= sizeLimit, included.positions <= sizeLimit / Self.leastSize else {
                throw AnswerSize.tooLarge(sizeLimit)
            }
        }
        return included
    }

    /// Object ids by class. Neighbors are mostly of one class, which is then looked up once.
    private static func idsByClass(_ pointers: [Pointer]) -> [Name: [String]] {
        var all: [Name: [String]] = [:]
        var rest = pointers[...]
        while let className = rest.first?.className {
            let run = rest.prefix { $0.className.hasSameBytes(as: className) }
            all[Name(className), default: []] += run.map(\.objectId)
            rest = rest[run.endIndex...]
        }
        return all
    }

    /// Minimum bytes of an included object in an answer.
    private static let leastSize = 60

    /// Number of fields searched one by one among a row's columns.
    private static let fewChildren = 4

    /// Targets kept before equal ones are merged, and rows processed at once.
    private static let few = 64

    private static func sum(_ left: Int, _ right: Int) -> Int {
        let (sum, overflows) = left.addingReportingOverflow(right)
        return overflows ? .max : sum
    }

    /// The rows of the next level: found objects with further includes. Counts the positions of all found ones.
    private static func sources(_ targets: [Target], _ included: inout IncludedObjects) -> [Source] {
        var sources: [Source] = []
        // Where everything was found, what ends here need not be looked up.
        let isComplete = included.missing == 0
        for target in targets {
            if isComplete, target.node.children.isEmpty {
                included.positions = sum(included.positions, target.positions)
                continue
            }
            guard let found = included.find(target.pointer) else { continue }
            included.positions = sum(included.positions, target.positions)
            guard !target.node.children.isEmpty else { continue }
            sources.append(
                Source(
                    result: found.result, rows: found.row..<found.row + 1, plan: found.plan, node: target.node,
                    positions: target.positions))
        }
        return sources
    }

    /// The targets of a level's pointers. Many equal ones become one target, so that objects that point to each other
    /// don't multiply.
    private static func targets(of sources: [Source]) -> [Target] {
        var all: [Target] = []
        all.reserveCapacity(few)
        var most = few
        for source in sources {
            collect(source, into: &all)
            if all.count > most {
                all = merged(all)
                most = max(few, 2 * all.count)
            }
        }
        return all.count > few ? merged(all) : all
    }

    private static func merged(_ targets: [Target]) -> [Target] {
        var merged: [Target] = []
        var known: [Place: Int] = [:]
        known.reserveCapacity(targets.count)
        for target in targets {
            let place = Place(pointer: target.pointer, node: ObjectIdentifier(target.node))
            if let index = known[place] {
                merged[index].positions = sum(merged[index].positions, target.positions)
            } else {
                known[place] = merged.count
                merged.append(target)
            }
        }
        return merged
    }

    /// Looks up the fewer of included and existing fields among the others, here and in values, so that a thousand
    /// paths aren't searched in each row and each object of a long list.
    private static func collect(_ source: Source, into targets: inout [Target]) {
        let children = source.node.children
        if children.count <= fewChildren {
            for (name, node) in children {
                if let index = source.plan.index(of: name.text) { collect(source, index, node, into: &targets) }
            }
        } else {
            for (index, column) in source.plan.columns.enumerated() {
                if let node = children[Name(column.name)] { collect(source, index, node, into: &targets) }
            }
        }
    }

    private static func collect(_ source: Source, _ index: Int, _ node: IncludeNode, into targets: inout [Target]) {
        let column = source.plan.columns[index]
        switch column.encoding {
        case .pointer:
            let className = column.target ?? ""
            for row in source.rows {
                guard let id = source.result.string(row, index) else { continue }
                targets.append(
                    Target(
                        pointer: Pointer(className: className, objectId: id), node: node, positions: source.positions))
            }
        case .json:
            for row in source.rows {
                _ = source.result.withJSON(row, index) { text in
                    if let pointers = PointerList.read(text) {
                        targets += pointers.map { Target(pointer: $0, node: node, positions: source.positions) }
                    } else if let json = try? JSONValue(parsing: text) {
                        collect(json, node, source.positions, into: &targets)
                    }
                }
            }
        default: break
        }
    }

    private static func collect(
        _ value: JSONValue, _ node: IncludeNode, _ positions: Int, into targets: inout [Target]
    ) {
        switch value {
        case .array(let list):
            for element in list { collect(element, node, positions, into: &targets) }
        case .object(let object):
            if object["__type"] == "Pointer" {
                if let pointer = Pointer(json: value) {
                    targets.append(Target(pointer: pointer, node: node, positions: positions))
                }
                return
            }
            if node.children.count <= object.count {
                for (key, child) in node.children {
                    if let member = object[key] { collect(member, child, positions, into: &targets) }
                }
            } else {
                for (key, member) in object {
                    if let child = node.children[key] { collect(member, child, positions, into: &targets) }
                }
            }
        default: break
        }
    }
}
