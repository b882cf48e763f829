import Synchronization

/// Slots for files that are being read from a bucket. Each has a connection to the store for as long as its client takes.
final class DownloadPlaces: Sendable {
    /// One place, which is free again when it is let go.
    final class Place: Sendable {
        private let places: DownloadPlaces

        fileprivate init(_ places: DownloadPlaces) { self.places = places }

        deinit { places.taken.subtract(1, ordering: .relaxed) }
    }

    /// How many there are.
    static let count = 1024

    private let taken = Atomic(0)

    /// Takes a place; nil where none is free.
    func take() -> Place? {
        guard taken.add(1, ordering: .relaxed).newValue <= Self.count else {
            taken.subtract(1, ordering: .relaxed)
            return nil
        }
        return Place(self)
    }
}
