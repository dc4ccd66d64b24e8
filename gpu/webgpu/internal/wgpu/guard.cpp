//go:build cgo && (darwin || webgpu)

// Runs a call of the library and catches its panic. A Rust panic unwinds as an
// exception of a foreign language, which the C++ ABI lets a catch-all clause stop
// (https://itanium-cxx-abi.github.io/cxx-abi/abi-eh.html, 2.4.2). Leaving the
// clause would delete the exception, and Rust ends the process when a panic is
// deleted outside Rust, so the clause is left by longjmp, after the list of
// exceptions that are being handled has been emptied as leaving would have done.

#include <csetjmp>
#include <cxxabi.h>

namespace {
// The start of __cxa_eh_globals by the ABI, 2.2.2.
struct Handling {
	void *caught;
};
} // namespace

extern "C" int webgpu_guard(void (*run)(void *), void *argument) {
	std::jmp_buf after;
	if (setjmp(after) != 0) {
		return 1;
	}
	try {
		run(argument);
	} catch (...) {
		reinterpret_cast<Handling *>(abi::__cxa_get_globals())->caught = nullptr;
		std::longjmp(after, 1);
	}
	return 0;
}
