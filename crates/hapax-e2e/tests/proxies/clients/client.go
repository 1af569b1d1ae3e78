// Posts a body of zeros with Go's http.Client: client URL BYTES TIMES
// Prints a line for each request: its status, or the error.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
)

func main() {
	length, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	times, err := strconv.Atoi(os.Args[3])
	if err != nil {
		panic(err)
	}
	body := make([]byte, length)
	for request := 0; request < times; request++ {
		fmt.Println(post(os.Args[1], body))
	}
}

func post(url string, body []byte) string {
	answer, err := http.Post(url, "application/octet-stream", bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err.Error()
	}
	return strconv.Itoa(answer.StatusCode)
}
