import JSON
import LiveQuery
import Operations
import Testing

/// Changes split into messages between processes.
@Suite struct RelayedChangeTests {
    private static func change(_ text: String) -> Change {
        Change(
            className: "Note", objectId: "a1", before: ["objectId": "a1", "text": .string(text)],
            after: ["objectId": "a1", "text": "new"])
    }

    @Test(
        "Splits a change into pieces below 8,000 bytes and reassembles it unchanged",
        arguments: [
            "", "short", String(repeating: "x", count: 100_000), String(repeating: "€", count: 30_000),
            String(repeating: " \u{301}\u{301}", count: 30_000), String(repeating: "👩‍👩‍👧", count: 9_000),
            String(repeating: " ", count: 20_000),
        ])
    func pieces(text: String) throws {
        let pieces = RelayedChange(Self.change(text)).pieces(sender: "s", number: 7)
        for piece in pieces { #expect(piece.utf8.count < 8000) }
        var received = RelayedPieces(ownSender: "me")
        for piece in pieces.dropLast() { #expect(received.add(piece) == nil) }
        let whole = received.add(pieces[pieces.count - 1])
        let change = try #require(whole).change()
        #expect(change.className == "Note" && change.objectId == "a1")
        #expect(change.before?["text"] == .string(text) && change.after?["text"] == "new")
    }

    @Test("Keeps senders apart, ignores its own pieces and drops a change that lacks one")
    func several() throws {
        let text = String(repeating: "x", count: 20_000)
        let one = RelayedChange(Self.change(text)).pieces(sender: "one", number: 1)
        let two = RelayedChange(Self.change(text)).pieces(sender: "two", number: 1)
        var received = RelayedPieces(ownSender: "me")
        var whole = 0
        for (left, right) in zip(one, two) {
            if received.add(left) != nil { whole += 1 }
            if received.add(right) != nil { whole += 1 }
        }
        #expect(whole == 2)
        for piece in RelayedChange(Self.change("a")).pieces(sender: "me", number: 1) {
            #expect(received.add(piece) == nil)
        }
        for (place, piece) in one.enumerated() where place != 1 { #expect(received.add(piece) == nil) }
        let next = RelayedChange(Self.change("b")).pieces(sender: "one", number: 2)
        #expect(received.add(next[0])?.change().before?["text"] == "b")
    }

    @Test(
        "Detects lost changes by gaps in a sender's numbers",
        arguments: [
            ([1, 2, 3], false), ([7, 8], false), ([1, 3], true), ([1, 1_000], true), ([3, 1], true),
        ] as [([Int], Bool)])
    func losses(numbers: [Int], isLoss: Bool) {
        var received = RelayedPieces(ownSender: "me")
        for number in numbers {
            for piece in RelayedChange(Self.change("a")).pieces(sender: "one", number: number) {
                let change = received.add(piece)
                #expect(change != nil)
            }
        }
        // Numbers of different processes are independent.
        _ = received.add(RelayedChange(Self.change("b")).pieces(sender: "two", number: 90)[0])
        let losses = [received.consumeLoss(), received.consumeLoss()]
        #expect(losses == [isLoss, false])
        received.reset()
        for piece in RelayedChange(Self.change("a")).pieces(sender: "one", number: 500) { _ = received.add(piece) }
        let isLostAfterReset = received.consumeLoss()
        #expect(!isLostAfterReset, "after a reset nothing is known of numbers")
    }

    @Test("Skips a change that isn't wanted at its first piece, without reporting a loss")
    func unwanted() {
        let pieces = RelayedChange(Self.change(String(repeating: "x", count: 20_000))).pieces(sender: "one", number: 1)
        var received = RelayedPieces(ownSender: "me")
        for (place, piece) in pieces.enumerated() {
            let change = received.add(piece, isWanted: place > 0)
            #expect(change == nil)
        }
        let next = received.add(RelayedChange(Self.change("b")).pieces(sender: "one", number: 2)[0])
        let isLoss = received.consumeLoss()
        #expect(next?.change().before?["text"] == "b" && !isLoss)
    }

    @Test("A placeholder for lost changes reports a loss and isn't a change")
    func announcedLoss() {
        var received = RelayedPieces(ownSender: "me")
        let first = received.add(RelayedChange(Self.change("a")).pieces(sender: "one", number: 1)[0])
        let second = received.add(RelayedChange.none.pieces(sender: "one", number: 3)[0])
        let isLost = received.consumeLoss()
        #expect(first != nil && second == nil && isLost)
    }

    @Test(
        "Ignores malformed pieces",
        arguments: [
            "", " ", "a b c d e", "s 1 0 1", "s 1 0 1 {}", "s 1 0 1 []", "s 1 5 2 x", "s 1 -1 2 x", "s 1 0 0 x",
        ])
    func garbage(piece: String) {
        var received = RelayedPieces(ownSender: "me")
        #expect(received.add(piece) == nil)
    }
}
