import Encoding
import JSON
import Operations
import Outgoing
import ParseModel

/// Sends codes to the user's phone and checks them.
struct TextMessages {
    let options: FactorOptions
    let caller: HTTPCaller
    /// The counts of recent messages. They keep users from flooding phones or running up the operator's bill by
    /// switching between numbers.
    let sent: RecentCounts
    /// The user who requests messages, or nil during sign-up.
    let userId: String?

    /// The minimum interval in milliseconds between two codes, which protects phones from being flooded.
    private static let pause: Int64 = 30_000
    /// The maximum number of a user's pending numbers. A further one discards the others.
    private static let maxPending = 3
    /// The maximum number of messages in ten minutes: to a number, for a user, and for all sign-ups together.
    private static let (maxPerNumber, maxPerUser, maxForSignUps) = (10, 10, 100)

    /// Sends a code to a number. The number is pending until the code is confirmed.
    func begin(_ mobile: JSONValue, _ stored: JSONObject = [:], at now: ParseDate) async throws -> AuthOutcome {
        guard let text = mobile.stringValue, Self.isNumber(text) else {
            throw SecondFactor.refused("Invalid mobile number.")
        }
        let number = Self.key(text)
        var pending = stored["pending"]?.objectValue ?? [:]
        guard pending.values.allSatisfy({ isPauseOver($0.objectValue ?? [:], now) }) else {
            throw SecondFactor.refused("Please enter the token")
        }
        if pending[Name(number)] == nil, pending.count >= Self.maxPending { pending = [:] }
        pending[Name(number)] = .object(try await send(to: number, at: now))
        var data = stored
        data["pending"] = .object(pending)
        return AuthOutcome(stored: data)
    }

    /// Confirms a pending number with its code.
    func confirm(_ mobile: JSONValue, _ token: JSONValue?, _ stored: JSONObject, at now: ParseDate) throws
        -> AuthOutcome
    {
        guard let number = mobile.stringValue.map({ Name(Self.key($0)) }), var pending = stored["pending"]?.objectValue,
            let sent = pending[number]?.objectValue
        else { throw SecondFactor.refused("This number is not pending") }
        guard isRight(token, sent), !isExpired(sent, now) else { throw SecondFactor.invalidToken }
        pending[number] = nil
        var data = stored
        data["pending"] = .object(pending)
        data["mobile"] = .string(number.text)
        return AuthOutcome(stored: data)
    }

    /// Checks and consumes a code, or sends a new one if the token is `request`.
    func logIn(_ data: JSONObject, _ stored: JSONObject, at now: ParseDate) async throws -> AuthOutcome {
        var spent = stored
        if data["token"] == "request" {
            let refusal = SecondFactor.refused("Please enter the token")
            guard isPauseOver(stored, now) else { return AuthOutcome(refusal: refusal) }
            guard let mobile = stored["mobile"]?.stringValue else { throw SecondFactor.invalidData }
            for (name, value) in try await send(to: mobile, at: now) { spent[name] = value }
            return AuthOutcome(stored: spent, refusal: refusal)
        }
        guard isRight(data["token"], stored) else { throw SecondFactor.refused("Invalid MFA token 1") }
        guard !isExpired(stored, now) else { throw SecondFactor.refused("Invalid MFA token 2") }
        spent["token"] = nil
        spent["expiry"] = nil
        return AuthOutcome(stored: spent)
    }

    private func send(to mobile: String, at now: ParseDate) async throws -> JSONObject {
        guard let sender = options.sender else { throw SecondFactor.invalidData }
        guard sent.countOneMore(Self.digits(of: mobile), limit: Self.maxPerNumber) else {
            throw SecondFactor.refused("Too many messages were sent to this number.")
        }
        let limit = userId == nil ? Self.maxForSignUps : Self.maxPerUser
        guard sent.countOneMore(Name("user \(userId ?? "")"), limit: limit) else {
            throw SecondFactor.refused("Too many messages were sent. Please try again later.")
        }
        let token = (0..<options.digits).map { _ in "\(Int.random(in: 0...9))" }.joined()
        try await sender.send(token, to: mobile, with: caller)
        let end = ParseDate(milliseconds: now.milliseconds + Int64(options.messageValidity) * 1000)
        return ["token": .string(options.secrets.digest(token)), "expiry": end.json]
    }

    private func isRight(_ token: JSONValue?, _ sent: JSONObject) -> Bool {
        guard let token = token?.stringValue, token.utf8.count <= 64, let known = sent["token"]?.stringValue else {
            return false
        }
        return options.secrets.isSame(token, as: known)
    }

    private func isExpired(_ sent: JSONObject, _ now: ParseDate) -> Bool {
        Self.expiry(sent).map { $0 < now.milliseconds } ?? true
    }

    private func isPauseOver(_ sent: JSONObject, _ now: ParseDate) -> Bool {
        guard let expiry = Self.expiry(sent) else { return true }
        return now.milliseconds - (expiry - Int64(options.messageValidity) * 1000) >= Self.pause
    }

    /// Returns the expiry of a code in milliseconds since 1970. Accepts Roost's date format and the text that
    /// parse-server stores in PostgreSQL.
    private static func expiry(_ sent: JSONObject) -> Int64? {
        let text = sent["expiry"]?["iso"]?.stringValue ?? sent["expiry"]?.stringValue
        return text.flatMap(ParseDate.init(iso:))?.milliseconds
    }

    /// Returns the key of a pending number. A dot would split the field name.
    private static func key(_ number: String) -> String { number.replacing(".", with: "-") }

    /// Returns the digits without leading zeros, so that different spellings of a number count together.
    private static func digits(of number: String) -> Name {
        Name(String(decoding: number.utf8.filter { (0x30...0x39).contains($0) }.drop { $0 == 0x30 }, as: UTF8.self))
    }

    /// Implements parse-server's pattern `^[+]*[(]{0,1}[0-9]{1,3}[)]{0,1}[-\s\./0-9]*$`, for up to 40 bytes.
    private static func isNumber(_ text: String) -> Bool {
        guard text.utf8.count <= 40, !text.utf8.contains(where: { $0 < 32 }) else { return false }
        return text.wholeMatch(of: /\+*\(?[0-9]{1,3}\)?[\- .\/0-9]*/) != nil
    }
}
