import Console
import Testing

@Suite struct IndexProgressTests {
    @Test("The percentage of an index build never decreases from phase to phase")
    func phases() {
        let phases = [
            "initializing", "waiting for writers before build", "building index: scanning table",
            "building index: sorting live tuples", "building index: loading tuples in tree",
            "waiting for writers before validation", "index validation: scanning index",
            "index validation: sorting tuples",
            "index validation: scanning table", "waiting for old snapshots",
        ]
        var last = -1
        for phase in phases {
            for done: Int64 in [0, 50, 100] {
                let progress = IndexProgress(phase: phase, blocks: (done, 100), tuples: (done, 100))
                #expect(progress.percent >= last && progress.percent < 100 && !progress.words.isEmpty, "\(phase)")
                last = progress.percent
            }
            #expect(IndexProgress(phase: phase, blocks: (0, 0), tuples: (0, 0)).percent >= 0)
        }
    }
}
