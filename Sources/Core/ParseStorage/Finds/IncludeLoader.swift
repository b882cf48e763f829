import JSON
import Limits
import ParseModel
import Postgres

/// Fetches included objects level by level, with one or two round trips per level.
struct IncludeLoader {
    let store: ObjectStore
    let place: ReadPlace
    /// A function that returns the caller's access to a class, or throws if the caller can't read the class at all.
    let access: @Sendable (String) async throws -> ReadAccess
    /// The maximum size of the response in bytes.
    let sizeLimit: Int
    /// The size in bytes above which values are shortened, or nil for never.
    let shorten: Int?

    private struct Source {
        let result: PostgresResult
        let rows: Range<Int>
        let plan: ReadPlan
        let node: IncludeNode
        /// The number of positions in the response where each row is written.
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
        var isSlow = Cost.writing(result.size).isSlow
        while !sources.isEmpty {
            let targets =
                isSlow ? await HeavyWork.run { [sources] in Self.targets(of: sources) } : Self.targets(of: sources)
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
                if Cost.writing(fetched.result.size).isSlow { isSlow = true }
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
            // The response needs at least half the bytes of the rows, and the minimum size for each position. If that
            // exceeds the limit, the rest needn't be read.
            guard included.size / 2 <= sizeLimit, included.positions <= sizeLimit / Self.minSize else {
                throw AnswerSize.tooLarge(sizeLimit)
            }
        }
        return included
    }

    /// Groups object ids by class. Consecutive pointers usually have the same class, which is then looked up once.
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

    /// The minimum size of an included object in a response, in bytes.
    private static let minSize = 60

    /// Up to this number of included fields, each of them is looked up among a row's columns.
    private static let fewChildren = 4

    /// The number of targets above which equal ones are merged, and the maximum number of rows per source.
    private static let few = 64

    private static func sum(_ left: Int, _ right: Int) -> Int {
        let (sum, overflows) = left.addingReportingOverflow(right)
        return overflows ? .max : sum
    }

    /// Returns the rows of the next level, which are found objects with further includes. Also counts positions.
    private static func sources(_ targets: [Target], _ included: inout IncludedObjects) -> [Source] {
        var sources: [Source] = []
        // If all objects were found, leaf targets needn't be looked up.
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

    /// Returns the targets of a level's pointers. Equal targets are merged, so that objects that point to each other
    /// don't multiply.
    private static func targets(of sources: [Source]) -> [Target] {
        var all: [Target] = []
        all.reserveCapacity(few)
        var limit = few
        for source in sources {
            collect(source, into: &all)
            if all.count > limit {
                all = merged(all)
                limit = max(few, 2 * all.count)
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

    /// If few fields are included, looks each up among the columns, otherwise each column among the included fields.
    /// Searching a thousand include paths in every row of a long list would be slow.
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
