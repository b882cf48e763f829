/// Times after which nobody asks.
enum LongTime {
    /// A thousand years, in seconds. What is longer counts as that: its end stays a date that every client reads.
    static let seconds: Double = 31_557_600_000
}
