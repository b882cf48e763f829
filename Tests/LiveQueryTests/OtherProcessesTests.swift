import LiveQuery
import Testing

@Suite struct OtherProcessesTests {
    private let start = ContinuousClock.now

    @Test("A process that does not hear others takes it that they have subscribers")
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

    @Test("One that begins to hear waits for an answer, or for as long as others announce themselves by themselves")
    func learning() {
        var others = OtherProcesses()
        others.beginHearing(at: start)
        #expect(others.mayListen(at: start + .seconds(59)) && !others.mayListen(at: start + .seconds(60)))
        others.recordQuestion(at: start + .seconds(1))
        #expect(others.mayListen(at: start + .seconds(10)) && !others.mayListen(at: start + .seconds(11)))
    }

    @Test("Who announced itself is remembered for a minute, whatever is heard meanwhile")
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
        "Announcements of other processes are read; one's own, pieces of changes and everything else are none",
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
