import NIOCore

#if os(Linux)
    import CScheduling
#endif

/// The processors of the machine that are for this process.
public enum Processors {
    /// How many there are, one at least: those that `taskset` or a control group's `cpuset` leave, and not more than a control
    /// group gives the time of.
    public static let count: Int = {
        #if os(Linux)
            var first: UInt32 = 0
            let usable = Int(usable_processors(&first, 1))
            if usable > 0 { return max(1, min(usable, System.coreCount)) }
        #endif
        return System.coreCount
    }()
}
