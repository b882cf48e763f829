import JSON

/// Parsing of regular expressions and full-text searches.
extension FilterParser {
    func all(_ operand: JSONValue) throws(ParseError) -> Constraint {
        guard let list = operand.arrayValue else { throw ParseError(unknownOperatorCode, "bad $all value") }
        let patterns = list.map { $0["$regex"]?.stringValue }
        guard patterns.contains(where: { $0 != nil }) else { return .containsAll(try values(list, of: "$all")) }
        try checkPatterns()
        var prefixes: [String] = []
        for pattern in patterns {
            guard let pattern, let prefix = RegexPattern.literalPrefix(pattern) else {
                throw ParseError(
                    107, "All $all values must be of regex type or none: \(operand.text)")
            }
            try RegexPattern.checkLength(pattern)
            prefixes.append(prefix)
        }
        return .containsAllStarting(prefixes)
    }

    private func checkPatterns() throws(ParseError) {
        guard !limits.allowsRegex, !isMaster else { return }
        throw ParseError(ParseError.invalidQuery, "$regex operator is not allowed")
    }

    func regex(_ operand: JSONValue, options: JSONValue?) throws(ParseError) -> Constraint {
        try checkPatterns()
        guard let pattern = operand.stringValue else {
            throw ParseError(ParseError.invalidQuery, "$regex value must be a string")
        }
        var flags = ""
        if let options {
            guard let text = options.stringValue, !text.isEmpty, text.allSatisfy({ "imxsu".contains($0) }) else {
                let described = options.stringValue ?? options.text
                throw ParseError(ParseError.invalidQuery, "Bad $options value for query: \(described)")
            }
            flags = text
        }
        try RegexPattern.checkLength(pattern)
        if !isMaster, !limits.allowsBackReferences, RegexPattern.mayReferBack(pattern) {
            _ = try RegexPattern.postgres(pattern, options: flags, allowsBackReferences: false)
        }
        return .regex(pattern: pattern, options: flags)
    }

    func textSearch(_ operand: JSONValue) throws(ParseError) -> TextSearch {
        guard let search = operand["$search"]?.objectValue else {
            throw ParseError(107, "bad $text: $search, should be object")
        }
        guard let term = search["$term"]?.stringValue else {
            throw ParseError(107, "bad $text: $term, should be string")
        }
        if let language = search["$language"], language.stringValue == nil {
            throw ParseError(107, "bad $text: $language, should be string")
        }
        for name in ["$caseSensitive", "$diacriticSensitive"] {
            if let flag = search[name], flag.boolValue == nil {
                throw ParseError(107, "bad $text: \(name), should be boolean")
            }
        }
        return TextSearch(
            term: term, language: search["$language"]?.stringValue,
            isCaseSensitive: search["$caseSensitive"]?.boolValue ?? false,
            isDiacriticSensitive: search["$diacriticSensitive"]?.boolValue ?? true)
    }
}
