import Foundation

extension ParseDate {
    /// The present time.
    public static var now: ParseDate {
        ParseDate(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
    }
}
