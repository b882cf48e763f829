import Foundation
import JSON
import LiveQuery
import Logging
import Operations
import ServerConfiguration
import TestSupport
import Testing

/// The delivery of changes to live-query connections.
@Suite struct ChangeFeedTests {
    private static let change = Change(
        className: "Note", objectId: "a", before: nil, after: ["objectId": "a"])

    private static func feed() -> ChangeFeed {
        ChangeFeed(Configuration.LiveQuery(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    @Test("A full backlog disconnects followers of the changed class, but not of other classes")
    func tooMany() async throws {
        let feed = Self.feed()
        let (inbox, other) = (ChangeInbox(), ChangeInbox())
        feed.add(inbox, to: .objects("Note"))
        feed.add(other, to: .objects("Other"))
        // Nobody consumes the changes.
        for _ in 0..<16_385 { await feed.observe(Self.change) }
        #expect(await Self.ends(inbox, within: .seconds(20)))
        #expect(await !Self.ends(other, within: .milliseconds(50)))
    }

    @Test("Limits the backlog by size, but always accepts a single change, however large")
    func tooLarge() async throws {
        for (size, count) in [(100 << 20, 1), (32 << 20, 2), (1 << 20, 64)] {
            let feed = Self.feed()
            let inbox = ChangeInbox()
            feed.add(inbox, to: .objects("Note"))
            let change = Change(
                className: "Note", objectId: "a", before: nil, after: nil, size: size)
            for _ in 0..<count { await feed.observe(change) }
            #expect(await !Self.ends(inbox, within: .milliseconds(50)), "\(count) of \(size) bytes")
            await feed.observe(change)
            #expect(await Self.ends(inbox, within: .seconds(20)), "\(count + 1) of \(size) bytes")
        }
    }

    @Test("Disconnects followers of a class if one of its changes is lost")
    func missed() async throws {
        let feed = Self.feed()
        let inbox = ChangeInbox()
        feed.add(inbox, to: .objects("Note"))
        await feed.missChange(of: "Other")
        #expect(await !Self.ends(inbox, within: .milliseconds(50)))
        await feed.missChange(of: "Note")
        #expect(await Self.ends(inbox, within: .seconds(20)))
    }

    /// A change of an object with a subscriber.
    private static func followed(number: Int64) -> Change {
        Change(
            className: "Other", objectId: "b", before: nil, after: ["objectId": "b"], number: number)
    }

    @Test("Forgets a class's state when its last follower leaves, even with a full backlog")
    func gapBehindMany() async throws {
        let feed = Self.feed()
        let (first, second) = (ChangeInbox(), ChangeInbox())
        let (gate, relayed) = (Latch(), Lines())
        let running = Task.detached {
            await feed.run { change in
                guard change.text.contains("Note") else { return }
                relayed.append("")
                while !gate.isOpen { usleep(1_000) }
            }
        }
        defer { running.cancel() }
        feed.add(first, to: .objects("Other"))
        await feed.observe(Self.followed(number: 5))
        await feed.observe(Self.change)
        let isHeld = try await eventually { relayed.all.count == 1 }
        #expect(isHeld)
        for _ in 0..<16_384 { await feed.observe(Self.change) }
        feed.remove(first, from: .objects("Other"))
        gate.open()
        let isEmpty = try await eventually { relayed.all.count == 16_385 }
        #expect(isEmpty)
        // After a failover, the numbers restart.
        feed.add(second, to: .objects("Other"))
        await feed.observe(Self.followed(number: 5))
        #expect(await Self.hasChange(second))
    }

    private static func hasChange(_ inbox: ChangeInbox) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await item in inbox.items { if case .change = item { return true } }
                return false
            }
            group.addTask {
                try? await Task.sleep(for: .seconds(5))
                return false
            }
            let isFirst = await group.next() ?? false
            group.cancelAll()
            return isFirst
        }
    }

    private static func ends(_ inbox: ChangeInbox, within limit: Duration) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await _ in inbox.overflow {}
                return !Task.isCancelled
            }
            group.addTask {
                try? await Task.sleep(for: limit)
                return false
            }
            let isFirst = await group.next() ?? false
            group.cancelAll()
            return isFirst
        }
    }
}
