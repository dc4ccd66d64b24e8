package host

import "syscall/js"

// Memory is how many bytes of system memory a device may use, 0 if the browser does not
// say: an eighth is left to others, as elsewhere. Browsers that tell round the figure and
// bound it (https://www.w3.org/TR/device-memory/).
func Memory() int {
	navigator := js.Global().Get("navigator")
	if navigator.IsUndefined() || navigator.Get("deviceMemory").IsUndefined() {
		return 0
	}
	return int(navigator.Get("deviceMemory").Float() * (1 << 30) / 8 * 7)
}
