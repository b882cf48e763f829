import JSON
import ParseModel
import Testing

/// Nested values addressed by dotted keys.
@Suite struct NestedValueTests {
    @Test("Sets a value at a path, creating objects and padding lists as needed")
    func setting() {
        let cases: [(JSONValue, [String], JSONValue)] = [
            ([:], ["a", "b"], ["a": ["b": 7]]), (["a": 1], ["a", "b"], ["a": ["b": 7]]),
            (["x", "y"], ["1"], ["x", 7]), ([], ["2"], [.null, .null, 7]), ([["n": 1]], ["0", "n"], [["n": 7]]),
            (["x"], ["name"], ["name": 7]), (.null, ["0"], ["0": 7]), ([[1, 2]], ["0", "1"], [[1, 7]]),
            // A number of more than six digits is a member's name.
            (["x"], ["1000000"], ["1000000": 7]), ("text", [], 7),
        ]
        for (value, steps, expected) in cases {
            var changed = value
            changed.set(7, at: steps[...])
            #expect(changed == expected, "\(value) \(steps)")
            #expect(changed.value(at: steps[...]) == 7, "\(value) \(steps)")
        }
    }

    @Test("Removes members, replaces list elements with null and ignores missing paths")
    func removing() {
        let cases: [(JSONValue, [String], JSONValue)] = [
            (["a": 1, "b": 2], ["a"], ["b": 2]), (["x", "y"], ["0"], [.null, "y"]), (["x"], ["7"], ["x"]),
            ([["n": 1]], ["0", "n"], [[:]]), (["a": 1], ["b", "c"], ["a": 1]), ("text", ["a"], "text"),
        ]
        for (value, steps, expected) in cases {
            var changed = value
            changed.remove(at: steps[...])
            #expect(changed == expected, "\(value) \(steps)")
        }
    }
}
