// HTTP by a `curl` process.
//
// Why a process and not libcurl: the binary keeps needing only libc; a libcurl that is dlopened
// would bring its own OpenSSL beside the one that is linked statically here; TLS and what the
// network sends are parsed outside the process that holds tasks and verdicts; and a child can be
// killed when it hangs, wherever it hangs.
//
// The key travels in a memfd, never on a command line; the child gets a clean environment, reads
// no ~/.curlrc, follows no redirect and asks for no compression.
#pragma once

#include "agent/model/http.h"

namespace fiel::agent {

class CurlTransport : public HttpTransport {
 public:
  HttpEnd post(const HttpRequest& request, const HttpSink& sink) override;
};

}  // namespace fiel::agent
