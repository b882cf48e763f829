import LiveQuery
import Testing

@Suite struct OtherProcessesTests {
    private let start = ContinuousClock.now

    @Test("Assumes that other processes have subscribers while it can't receive their messages")
    func deaf() {
        var others = OtherProcesses()
        #expect(others.mayListen(at: start + .seconds(3600)))
        others.recordQuestion(at: start)
        #expect(others.mayListen(at: start + .seconds(3600)), "the answer would not be heard")
        others.beginHearing(at: start)
        others.recordQuestion(at: start)
        others.endHearing()
        #expect(others.mayListen(at: start + .seconds(3600)))
    }

    @Test("Assumes subscribers until 60 seconds after it starts receiving or 10 seconds after it asks")
    func learning() {
        var others = OtherProcesses()
        others.beginHearing(at: start)
        #expect(others.mayListen(at: start + .seconds(59)) && !others.mayListen(at: start + .seconds(60)))
        others.recordQuestion(at: start + .seconds(1))
        #expect(others.mayListen(at: start + .seconds(10)) && !others.mayListen(at: start + .seconds(11)))
    }

    @Test("Remembers an announcement for 60 seconds, even if receiving restarts")
    func remembering() {
        var others = OtherProcesses()
        others.beginHearing(at: start)
        others.recordQuestion(at: start)
        others.recordAnnouncement(at: start + .seconds(30))
        #expect(others.mayListen(at: start + .seconds(89)) && !others.mayListen(at: start + .seconds(90)))
        others.beginHearing(at: start + .seconds(40))
        others.recordQuestion(at: start + .seconds(40))
        #expect(others.mayListen(at: start + .seconds(89)) && !others.mayListen(at: start + .seconds(90)))
    }

    @Test(
        "Reads only announcements of other processes, and never takes them for changes",
        arguments: [
            ("here other", .here), ("who other", .who), ("here me", nil), ("who me", nil), ("here", nil), ("", nil),
            ("there other", nil), ("here other 1", nil), ("other 1 0 1 {}", nil),
        ] as [(String, OtherProcesses.Announcement?)])
    func announcements(text: String, expected: OtherProcesses.Announcement?) {
        #expect(OtherProcesses.Announcement(text, ownProcess: "me") == expected)
        var pieces = RelayedPieces(ownSender: "me")
        #expect(pieces.add(text) == nil)
        let isLoss = pieces.consumeLoss()
        #expect(!isLoss, "older processes leave it out")
    }
}
