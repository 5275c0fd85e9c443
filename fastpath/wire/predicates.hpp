// Constraints, filters and predicates.
#pragma once

#include "wire/reader.hpp"

namespace cbn::wire {

namespace detail {

[[nodiscard]] inline bool operator_exists(Op op, Type type) noexcept {
    if (op == Op::Eq || op == Op::Ne || op == Op::Any) return true;
    if (op == Op::Prefix || op == Op::Suffix || op == Op::Substring) return type == Type::String;
    return type != Type::Boolean;
}

inline void read_constraint(Reader& in, ConstraintView& out) noexcept {
    const Type type = read_type(in);
    const std::size_t op_at = in.at();
    const auto raw = in.number<std::uint8_t>("operator");
    in.require(raw >= 1 && raw <= 10, Fault::BadOperator, "operator", op_at);
    out.op = static_cast<Op>(raw);
    in.require(operator_exists(out.op, type), Fault::OperatorForType, "operator", op_at);
    out.name = in.name("constraint name");
    if (!in.ok()) return;
    out.value = out.op == Op::Any ? ValueView{type} : read_value(in, type);
}

}  // namespace detail

// Walks an encoded filter and checks it: each constraint and the canonical order.
class ConstraintCursor {
  public:
    explicit ConstraintCursor(Bytes filter = {}, std::size_t base = 0) noexcept : in_(filter, base) {
        left_ = in_.number<std::uint16_t>("constraint count");
    }

    [[nodiscard]] bool next(ConstraintView& out) noexcept {
        if (left_ == 0 || !in_.ok()) return false;
        --left_;
        const std::size_t start = in_.at();
        detail::read_constraint(in_, out);
        const Bytes encoded = in_.since(start);
        in_.require(ascending(last_, encoded), Fault::NotAscending, "constraint", start);
        last_ = encoded;
        return in_.ok();
    }
    [[nodiscard]] const Status& status() const noexcept { return in_.status(); }
    // How many bytes have been read: the filter's size once `next` has returned false without a fault.
    [[nodiscard]] std::size_t size() const noexcept { return in_.at(); }

  private:
    Reader in_;
    std::uint32_t left_ = 0;
    Bytes last_{};
};

// One filter at the start of `data`; `size` becomes the number of its bytes.
[[nodiscard]] inline Status check_filter(Bytes data, std::size_t& size, std::size_t base = 0) noexcept {
    ConstraintCursor cursor(data, base);
    for (ConstraintView constraint; cursor.next(constraint);) {
    }
    size = cursor.size();
    return cursor.status();
}

// One filter and nothing after it.
[[nodiscard]] inline Status validate_filter(Bytes filter) noexcept {
    std::size_t size = 0;
    const Status status = check_filter(filter, size);
    if (status.ok() && size != filter.size()) return {Fault::LeftOver, "filter", size};
    return status;
}

// Walks an encoded predicate and checks it: each filter, the canonical order, the end.
class FilterCursor {
  public:
    explicit FilterCursor(Bytes predicate = {}, std::size_t base = 0) noexcept
        : in_(predicate, base), data_(predicate), base_(base) {
        left_ = in_.number<std::uint32_t>("filter count");
    }

    [[nodiscard]] bool next(Bytes& filter) noexcept {
        if (!status().ok()) return false;
        if (left_ == 0) {
            in_.finish("predicate");
            return false;
        }
        --left_;
        return read(filter);
    }
    [[nodiscard]] const Status& status() const noexcept { return fault_.ok() ? in_.status() : fault_; }

  private:
    [[nodiscard]] bool read(Bytes& filter) noexcept {
        const std::size_t start = in_.at();
        std::size_t size = 0;
        fault_ = check_filter(data_.subspan(start), size, base_ + start);
        if (!fault_.ok()) return false;
        filter = in_.bytes(size, "filter");
        in_.require(ascending(last_, filter), Fault::NotAscending, "filter", start);
        last_ = filter;
        return in_.ok();
    }

    Reader in_;
    Bytes data_;
    std::size_t base_;
    std::uint32_t left_ = 0;
    Bytes last_{};
    Status fault_{};
};

[[nodiscard]] inline Status validate_predicate(Bytes predicate, std::size_t base = 0) noexcept {
    FilterCursor cursor(predicate, base);
    for (Bytes filter; cursor.next(filter);) {
    }
    return cursor.status();
}

}  // namespace cbn::wire
