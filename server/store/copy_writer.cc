// SPDX-License-Identifier: Apache-2.0
#include "server/store/copy_writer.h"

#include <cstring>
#include <utility>

#include "server/store/pg_binary.h"

namespace stepcurve {
namespace {
constexpr size_t kSendBytes = 256 * 1024;
constexpr char kSignature[] = "PGCOPY\n\377\r\n";  // Its closing zero belongs to it.
}  // namespace

absl::StatusOr<CopyWriter> CopyWriter::Begin(PgConnection& connection, const char* statement) {
  const PgResult result(PQexec(connection.handle(), statement));
  if (PQresultStatus(result.get()) != PGRES_COPY_IN) {
    return connection.Failure(result.get());
  }
  return CopyWriter(&connection);
}

CopyWriter::CopyWriter(PgConnection* connection) : connection_(connection) {
  buffer_.reserve(kSendBytes + kSendBytes / 4);
  buffer_.append(kSignature, sizeof kSignature);
  pg::Append<int32_t>(buffer_, 0);  // Flags.
  pg::Append<int32_t>(buffer_, 0);  // Bytes of header extension.
}

CopyWriter::CopyWriter(CopyWriter&& other) noexcept
    : connection_(std::exchange(other.connection_, nullptr)),
      buffer_(std::move(other.buffer_)),
      status_(std::move(other.status_)) {}

CopyWriter::~CopyWriter() {
  if (connection_ == nullptr) {
    return;
  }
  PQputCopyEnd(connection_->handle(), "given up");
  while (PGresult* result = PQgetResult(connection_->handle())) {
    PQclear(result);
  }
}

void CopyWriter::Row(int16_t columns) {
  if (buffer_.size() >= kSendBytes) {
    Send();
  }
  pg::Append(buffer_, columns);
}

template <typename T>
void CopyWriter::Fixed(T value) {
  pg::Append<int32_t>(buffer_, sizeof value);
  pg::Append(buffer_, value);
}

// Length first, known only once `append` has run.
template <typename Append>
void CopyWriter::Sized(Append append) {
  const size_t start = buffer_.size();
  buffer_.append(sizeof(int32_t), '\0');
  append(buffer_);
  const auto length = pg::BigEndian(static_cast<int32_t>(buffer_.size() - start - sizeof(int32_t)));
  std::memcpy(buffer_.data() + start, &length, sizeof length);
}

void CopyWriter::Int64(int64_t value) { Fixed(value); }
void CopyWriter::Int32(int32_t value) { Fixed(value); }
void CopyWriter::Int16(int16_t value) { Fixed(value); }
void CopyWriter::Double(double value) { Fixed(value); }
void CopyWriter::Time(absl::Time value) { Fixed(pg::TimestampMicros(value)); }
void CopyWriter::Null() { pg::Append<int32_t>(buffer_, -1); }

void CopyWriter::Bool(bool value) {
  pg::Append<int32_t>(buffer_, 1);
  buffer_.push_back(value ? 1 : 0);
}

void CopyWriter::Text(std::string_view value) {
  pg::Append<int32_t>(buffer_, static_cast<int32_t>(value.size()));
  buffer_.append(value);
}

void CopyWriter::Jsonb(std::string_view text) {
  pg::Append<int32_t>(buffer_, static_cast<int32_t>(text.size()) + 1);
  buffer_.push_back(1);  // Version of jsonb's binary form.
  buffer_.append(text);
}

void CopyWriter::Int64s(absl::Span<const int64_t> values) {
  Sized([&](std::string& out) { pg::AppendArray(out, pg::kInt8, values); });
}
void CopyWriter::Int32s(absl::Span<const int32_t> values) {
  Sized([&](std::string& out) { pg::AppendArray(out, pg::kInt4, values); });
}
void CopyWriter::Doubles(absl::Span<const double> values) {
  Sized([&](std::string& out) { pg::AppendArray(out, pg::kFloat8, values); });
}
void CopyWriter::Texts(absl::Span<const std::string> values) {
  Sized([&](std::string& out) { pg::AppendTexts(out, values); });
}

void CopyWriter::Send() {
  if (status_.ok() && PQputCopyData(connection_->handle(), buffer_.data(), static_cast<int>(buffer_.size())) != 1) {
    status_ = connection_->Failure(nullptr);
  }
  buffer_.clear();
}

absl::Status CopyWriter::Finish() {
  pg::Append<int16_t>(buffer_, -1);  // Trailer.
  Send();
  PgConnection& connection = *std::exchange(connection_, nullptr);
  if (status_.ok() && PQputCopyEnd(connection.handle(), nullptr) != 1) {
    status_ = connection.Failure(nullptr);
  }
  while (PGresult* raw = PQgetResult(connection.handle())) {
    const PgResult result(raw);
    if (PQresultStatus(result.get()) != PGRES_COMMAND_OK && status_.ok()) {
      status_ = connection.Failure(result.get());
    }
  }
  return status_;
}

}  // namespace stepcurve
