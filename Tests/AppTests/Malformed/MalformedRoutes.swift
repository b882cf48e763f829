import Foundation
import TestTools

/// Malformed requests to every route of the server's own route table.
extension MalformedGenerator {
    struct Place: Sendable {
        let method: String
        let path: [Substring]
    }

    static let table: [Place] = {
        let text = (try? String(contentsOfFile: Checkout.path("docs/routes.md"), encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count > 1, cells[1].hasPrefix("`/") else { return nil }
            return Place(method: cells[0], path: Substring(cells[1].dropFirst(2).dropLast()).split(separator: "/"))
        }
    }()

    /// Returns a request to one of these routes, with arbitrary names, ids and bodies.
    mutating func tableRoute() -> (methods: [String], path: String, body: [UInt8]) {
        let place = values.pick(Self.table)
        var path = ""
        for component in place.path {
            path += "/" + (component.hasPrefix("<") ? Self.encoded(bytes: argument(component)) : String(component))
        }
        guard place.method != "GET" else { return (["GET"], path, []) }
        return ([place.method], path, body(of: place))
    }

    private mutating func argument(_ name: Substring) -> [UInt8] {
        switch name {
        case "<class>": Array(values.className().utf8)
        case "<trigger>": Array(values.pick(["beforeSave", "afterSave", "beforeFind", "nonsense", ""]).utf8)
        case "<relation>": Array(values.pick(["friends", "users", "roles", "nonsense"]).utf8)
        default: values.chance(50) ? Array("abcdefghij".utf8) : values.text()
        }
    }

    private mutating func body(of place: Place) -> [UInt8] {
        switch place.path.first {
        case _ where values.chance(10): return values.value()
        case "batch": return batch()
        case "users", "login", "verifyPassword", "loginAs", "challenge": return account()
        case "installations": return installation()
        case "config": return config()
        case "schemas": return schema()
        case "hooks":
            let names = ["functionName", "url", "className", "triggerName", "__op"]
            return values.object(
                names.filter { _ in values.chance(60) }.map { name in
                    switch name {
                    case "url":
                        (name, MalformedValues.quoted(values.pick(["http://127.0.0.1:1/x", "ftp://x", "", "x"])))
                    case "className": (name, MalformedValues.quoted(values.className()))
                    case "triggerName": (name, MalformedValues.quoted(values.pick(["beforeSave", "afterDelete", "x"])))
                    case "__op": (name, MalformedValues.quoted("Delete"))
                    default: (name, values.chance(60) ? values.string() : values.value())
                    }
                })
        case "import_data", "import_relation_data":
            let rows = (0..<Int.random(in: 0...4, using: &values.random)).map { _ in
                values.object(
                    [("objectId", values.chance(70) ? MalformedValues.quoted("abcdefghij") : values.value())]
                        + (0...1).map { _ in (values.key(), values.value()) }
                        + (values.chance(50) ? [("owningId", values.string()), ("relatedId", values.string())] : []))
            }
            return values.object([
                (values.pick(["results", "rows"]), values.chance(85) ? values.list(rows) : values.value())
            ])
        default: return fields()
        }
    }

    mutating func aggregate() -> (methods: [String], path: String, body: [UInt8]) {
        let pipeline = values.chance(90) ? values.pipeline() : values.value()
        let name = "/aggregate/" + Self.encoded(values.className())
        if values.chance(50) { return (["GET"], "\(name)?pipeline=\(Self.encoded(bytes: pipeline))", []) }
        return (
            ["POST"], name,
            values.object([
                ("_method", MalformedValues.quoted("GET")), (values.chance(90) ? "pipeline" : "distinct", pipeline),
            ])
        )
    }
}

extension MalformedValues {
    /// Returns the stages of an aggregation, about half of them invalid.
    mutating func pipeline() -> [UInt8] {
        let stages = (0..<Int.random(in: 1...4, using: &random)).map { _ in
            let name = pick([
                "$match", "$group", "$project", "$sort", "$limit", "$skip", "$unwind", "$sample", "$count",
                "$addFields", "$lookup", "$facet", "$nonsense", "group", "",
            ])
            return object([(name, chance(85) ? stage(name) : value(2))])
        }
        return list(stages)
    }

    private mutating func stage(_ name: String) -> [UInt8] {
        switch name {
        case "$match": return condition()
        case "$group", "group":
            let identifier = chance(60) ? reference() : expression()
            return object([("_id", identifier)] + (0...1).map { _ in (key(), expression()) })
        case "$project", "$addFields": return object((0...1).map { _ in (key(), chance(40) ? number() : expression()) })
        case "$sort": return object([(key(), number())])
        case "$limit", "$skip": return number()
        case "$unwind":
            return chance(50) ? reference() : object([("path", reference()), ("includeArrayIndex", string())])
        case "$sample": return object([("size", number())])
        case "$count": return string()
        default: return value(2)
        }
    }

    private mutating func reference() -> [UInt8] { Self.quoted("$" + key()) }

    private mutating func expression(_ depth: Int = 0) -> [UInt8] {
        let name = pick([
            "$sum", "$avg", "$min", "$max", "$first", "$last", "$push", "$addToSet", "$add", "$subtract", "$multiply",
            "$divide", "$mod", "$concat", "$dayOfMonth", "$month", "$year", "$hour", "$toUpper", "$cond", "$ifNull",
            "$eq", "$gt", "$and", "$not", "$size", "$nonsense",
        ])
        let operand =
            switch Int.random(in: 0..<6, using: &random) {
            case 0...1: reference()
            case 2 where depth < 3: list([expression(depth + 1), reference()])
            case 3 where depth < 3: expression(depth + 1)
            default: value(2)
            }
        return object([(name, operand)])
    }
}
