import Testing

@testable import Postgres

@Suite("How much work statements are together")
struct EffortTests {
    private static func effort(_ efforts: [Effort]) -> Effort {
        .of(efforts.map { Statement("SELECT 1", effort: $0) })
    }

    @Test(
        "As much as the one that is most, and several rows by their keys are no longer one row",
        arguments: [
            ([.row], .row), ([.rows], .rows), ([.any], .any), ([.row, .row], .rows), ([.row, .rows], .rows),
            ([.row, .any, .rows], .any),
        ] as [([Effort], Effort)])
    func together(efforts: [Effort], expected: Effort) {
        #expect(Self.effort(efforts) == expected)
    }

    @Test("Only what takes next to no time may keep those before it waiting")
    func little() {
        #expect(Effort.row.isLittle)
        #expect(Effort.rows.isLittle)
        #expect(!Effort.any.isLittle)
    }
}
