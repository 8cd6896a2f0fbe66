#include "serving/frontend/http/http_reply_head.h"

#include "absl/strings/str_cat.h"
#include "serving/frontend/http/http_status.h"

namespace tessera::serving {
namespace {

// Returns "Sun, 06 Nov 1994 08:49:37 GMT". Each thread formats it once a second.
absl::string_view DateText(absl::Time now) {
  thread_local int64_t second = -1;
  thread_local std::string text;
  if (const int64_t current = absl::ToUnixSeconds(now); current != second) {
    second = current;
    text = absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", now, absl::UTCTimeZone());
  }
  return text;
}

}  // namespace

std::string HttpReplyHead(const HttpReply& reply, const HttpReplyContext& context, absl::Time now) {
  std::string head =
      absl::StrCat(context.is_http_1_1 ? "HTTP/1.1 " : "HTTP/1.0 ", reply.status, " ",
                   HttpReasonPhrase(reply.status), "\r\nDate: ", DateText(now), "\r\n");
  if (!reply.content_type.empty()) {
    absl::StrAppend(&head, "Content-Type: ", reply.content_type, "\r\n");
  }
  for (const auto& [name, value] : reply.headers) absl::StrAppend(&head, name, ": ", value, "\r\n");
  const bool has_length = !context.is_head && reply.stream == nullptr;
  if (has_length) absl::StrAppend(&head, "Content-Length: ", reply.body.size(), "\r\n");
  // The header is needed only where it differs from the default of the HTTP version.
  if (!context.keep_alive) {
    absl::StrAppend(&head, "Connection: close\r\n");
  } else if (!context.is_http_1_1) {
    absl::StrAppend(&head, "Connection: keep-alive\r\n");
  }
  absl::StrAppend(&head, "\r\n");
  return head;
}

HttpReply HttpStatusPage(int status) {
  const absl::string_view reason = HttpReasonPhrase(status);
  return {.status = status,
          .content_type = "text/html",
          .body = absl::StrCat("<HTML><HEAD><TITLE>", status, " ", reason,
                               "</TITLE></HEAD><BODY><H1>", reason, "</H1></BODY></HTML>\n"),
          .close = true};
}

}  // namespace tessera::serving
